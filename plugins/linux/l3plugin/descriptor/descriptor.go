// Package descriptor teaches the scheduler routes, neighbours, policy rules and nexthop objects of Linux.
package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Deps is what the descriptors of this package need.
type Deps struct {
	// Namespaces opens network namespaces.
	Namespaces Namespaces
	// Index is where configured interfaces are found.
	Index ifaceidx.Index
	// Nexthops is where configured nexthop objects are found.
	Nexthops Nexthops
	// Allocated are the addresses that values may refer to.
	Allocated netalloc.Addresses
	// Log receives what a callback cannot return.
	Log logging.Logger
}

// Namespaces opens network namespaces; see nsplugin.API.
type Namespaces interface {
	Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Ensure(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Peek(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Named(ctx context.Context) ([]*namespace.NetNamespace, error)
}

// find finds an interface in the kernel. Close the place.
func (d Deps) find(ctx context.Context, iface string) (*ifaceidx.Place, error) {
	return ifaceidx.Find(ctx, d.Index, d.Namespaces, iface)
}

// closeHandle ends a lease; that cannot fail in a way that matters here.
func closeHandle(h netlinkapi.Handle) { _ = h.Close() }

// ignoreGone makes "already gone" a success.
func ignoreGone(err error) error {
	if netlinkapi.IsGone(err) {
		return nil
	}
	return err
}

// visit opens every namespace with configured interfaces, once, and calls f with the interfaces
// in it by index: index to logical name.
func (d Deps) visit(ctx context.Context, f func(h netlinkapi.Handle, names map[int]string) error) error {
	return d.eachNamespace(ctx, d.Index.Namespaces(), d.Namespaces.Open, map[netlinkapi.NamespaceID]bool{},
		func(_ *namespace.NetNamespace, h netlinkapi.Handle) error { return f(h, d.names(ctx, h.Namespace())) })
}

// visitAll opens the given namespaces, the agent's namespace, and the named ones, where objects
// may have been left behind, each once. A namespace has the first of its references.
func (d Deps) visitAll(ctx context.Context, given []*namespace.NetNamespace, f func(ns *namespace.NetNamespace, h netlinkapi.Handle) error) error {
	seen := map[netlinkapi.NamespaceID]bool{}
	if err := d.eachNamespace(ctx, append(given, nil), d.Namespaces.Open, seen, f); err != nil {
		return err
	}
	named, err := d.Namespaces.Named(ctx)
	if err != nil {
		return err
	}
	return d.eachNamespace(ctx, named, d.Namespaces.Peek, seen, f)
}

type opener func(context.Context, *namespace.NetNamespace) (netlinkapi.Handle, error)

// eachNamespace calls f for each namespace that was not seen yet. One that is gone, or that the
// process may not enter, has nothing of ours.
func (d Deps) eachNamespace(ctx context.Context, all []*namespace.NetNamespace, open opener, seen map[netlinkapi.NamespaceID]bool,
	f func(ns *namespace.NetNamespace, h netlinkapi.Handle) error) error {
	for _, ns := range all {
		h, err := open(ctx, ns)
		if errors.Is(err, netlinkapi.ErrPermission) {
			d.Log.Debug("network namespace not read", "namespace", nsmodel.Text(ns), "error", err)
			continue
		}
		if err == nil {
			if !seen[h.Namespace()] {
				seen[h.Namespace()] = true
				err = f(ns, h)
			}
			closeHandle(h)
		}
		if err != nil && !errors.Is(err, netlinkapi.ErrNamespaceGone) {
			return fmt.Errorf("%s: %w", nsmodel.Text(ns), err)
		}
	}
	return nil
}

// KeysOfRemoved returns the keys that the route may have that an event is about: a route of the
// table of its interface does not name the table, and the destination may be a reference.
func KeysOfRemoved(iface string, e netlinkapi.Event, allocated netalloc.Addresses) (keys []string) {
	for _, dst := range append(allocated.NetworkReferences(e.Prefix, iface), e.Prefix.String()) {
		r := &l3.Route{OutgoingInterface: iface, DstNetwork: dst}
		keys = append(keys, l3model.RouteModel.Key(r))
		if e.Table != netlinkapi.MainTable {
			r.Table = e.Table
			keys = append(keys, l3model.RouteModel.Key(r))
		}
	}
	return keys
}

// names lists the interfaces in a namespace by index.
func (d Deps) names(ctx context.Context, id netlinkapi.NamespaceID) map[int]string {
	names := map[int]string{}
	same := map[string]bool{} // references that lead to the namespace
	for name, meta := range d.Index.All() {
		text := nsmodel.Text(meta.Namespace)
		here, known := same[text]
		if !known {
			if h, err := d.Namespaces.Open(ctx, meta.Namespace); err == nil {
				here = h.Namespace() == id
				closeHandle(h)
			}
			same[text] = here
		}
		if here {
			names[meta.LinuxIfIndex] = name
		}
	}
	return names
}

// hasAddress is the dependency on any address of the interface.
func hasAddress(label, iface string) api.Dependency {
	return api.Dependency{Label: label, AnyOf: api.AnyOfDependency{
		KeyPrefixes: []string{ifmodel.AddressKey.Prefix(iface)},
	}}
}

// isUp is the dependency on the interface being up.
func isUp(label, iface string) api.Dependency {
	return api.Dependency{Label: label, Key: ifmodel.StateKeyFor(iface, true)}
}

// invalid is the error about one field of a value.
func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}

// enumField reports an enum value without a name.
func enumField(field string, n protoreflect.Enum) error {
	if n.Descriptor().Values().ByNumber(n.Number()) == nil {
		return invalid(field, "%d is not known", n.Number())
	}
	return nil
}

// checkAddress reports what is wrong with an IP address.
func checkAddress(text string) error {
	ip, err := netallocmodel.ParseHost(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q; expected an IP address", text)
	case ip.Zone() != "":
		return fmt.Errorf("%q; expected an IP address without zone, because the interface is known", text)
	}
	return nil
}

// address parses an IP address that was checked; invalid if it is empty or
// unspecified.
func address(text string) netip.Addr {
	ip, err := netallocmodel.ParseHost(text)
	if err != nil || ip.IsUnspecified() {
		return netip.Addr{}
	}
	return ip.Unmap()
}
