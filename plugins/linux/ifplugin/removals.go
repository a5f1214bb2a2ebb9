package ifplugin

import (
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	alloc "github.com/tenuto-dev/tenuto/plugins/netalloc"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// removals reports what interfaces of the configuration may have lost according to the
// events of the kernel. An event about a link costs one lookup; the scheduler then reads the reported
// values alone.
type removals struct {
	index  ifaceidx.Index
	report func(keys ...string)
	// allocated are the addresses that interfaces may refer to.
	allocated alloc.Addresses
	paths     []PathFunc
	followers []Follower
}

// Follower has values in network namespaces that are no interfaces. Its methods must not block.
type Follower interface {
	// Uses reports whether use is true for a namespace with such values; nil is the agent's
	// own.
	Uses(use func(ns *namespace.NetNamespace) bool) bool
	// Event handles an event in a namespace that is followed.
	Event(ns *namespace.NetNamespace, e netlinkapi.Event)
	// Missed is called when events in a namespace may have been missed.
	Missed(ns *namespace.NetNamespace)
}

// uses reports whether use is true for a namespace with values of followers.
func (r *removals) uses(use func(ns *namespace.NetNamespace) bool) bool {
	return slices.ContainsFunc(r.followers, func(f Follower) bool { return f.Uses(use) })
}

// PathFunc receives the removal of a route or neighbour on an interface of the
// configuration, by any process, and CarrierLost.
type PathFunc func(iface string, e netlinkapi.Event)

// event handles an event in a namespace; nil is the agent's own. It returns whether the
// links have to be read.
func (r *removals) event(ns *namespace.NetNamespace, e netlinkapi.Event) (links bool) {
	if e.Kind == netlinkapi.LinkChanged || e.Kind == netlinkapi.LinkGone {
		return true
	}
	if e.Kind == netlinkapi.RouteRemoved && e.Link == 0 {
		r.anywhere(ns, e)
		return false
	}
	if e.Kind == netlinkapi.RuleRemoved || e.Kind == netlinkapi.NexthopRemoved || e.Kind == netlinkapi.TableChanged {
		for _, f := range r.followers {
			f.Event(ns, e)
		}
		return false
	}
	for _, iface := range r.index.AtLink(ifaceidx.LinkIn(ns, e.Link)) {
		switch e.Kind {
		case netlinkapi.RoutesFlushed:
			r.flushed(iface)
		case netlinkapi.AddressRemoved:
			r.report(addressKeys(iface, e.Prefix, r.allocated)...)
		case netlinkapi.SysctlChanged:
			r.report(ifmodel.SysctlKey.Key(e.Sysctl, iface))
		default:
			for _, f := range r.paths {
				f(iface, e)
			}
		}
	}
	return false
}

// anywhere passes on the removal of a route without a link, which may belong to any interface
// in the namespace.
func (r *removals) anywhere(ns *namespace.NetNamespace, e netlinkapi.Event) {
	for iface, meta := range r.index.All() {
		if !nsmodel.Equal(meta.Namespace, ns) {
			continue
		}
		for _, f := range r.paths {
			f(iface, e)
		}
	}
}

// flushed reports what an interface may have lost that was set down or lost an address:
// what depends on its state, and that state itself. An interface of type EXISTING waits
// until its owner sets it up again.
func (r *removals) flushed(iface string) {
	keys := []string{ifmodel.StateKeyFor(iface, true)}
	if meta, ok := r.index.Get(iface); ok && !meta.Existing {
		keys = append(keys, ifmodel.InterfaceModel.KeyFor(iface))
	}
	r.report(keys...)
}

// missed reports all that the interfaces in a namespace may have lost, since events were
// missed. The next look at the links and addresses reports those.
func (r *removals) missed(ns *namespace.NetNamespace) {
	for iface, meta := range r.index.All() {
		if nsmodel.Equal(meta.Namespace, ns) {
			r.flushed(iface)
		}
	}
	for _, f := range r.followers {
		f.Missed(ns)
	}
}

// addressKeys returns the keys that an address of an interface may have: its own, and the keys
// of references to it.
func addressKeys(iface string, p netip.Prefix, allocated alloc.Addresses) []string {
	keys := []string{ifmodel.AddressKeyFor(iface, p.String(), netalloc.IPAddressSource_STATIC)}
	for _, text := range allocated.References(p, iface) {
		keys = append(keys, ifmodel.AddressKeyFor(iface, text, netalloc.IPAddressSource_ALLOC_REF))
	}
	return keys
}
