// Package ifaceidx is the index of configured Linux interfaces: where in the
// kernel the interface with a logical name is. The descriptor linux-interface
// fills it; everything that stands on interfaces looks there.
package ifaceidx

import (
	"context"
	"fmt"
	"iter"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Descriptor is the name of the descriptor whose metadata this is.
const Descriptor = "linux-interface"

// LinuxIfMetadata says where an interface is; its label in the metadata map is
// the logical name.
type LinuxIfMetadata struct {
	LinuxIfIndex int                     // in its namespace
	VPPTapName   string                  // logical name of the TAP in VPP; empty for other types
	Namespace    *namespace.NetNamespace // nil: the agent's own
	HostIfName   string                  // name in the kernel
	VrfMasterIf  string                  // logical name of the VRF that it is in; empty: none
	VrfDevRT     uint32                  // routing table, of VRFs only
	MasterIf     string                  // logical name of the bridge or bond that it is a port of; empty: none
	Existing     bool                    // of type EXISTING: another process owns the link
	Parent       string                  // logical name of the link beneath that its MTU depends on; empty: none
	MTU          int                     // as configured; 0: the MTU of the parent without the overhead
	Overhead     int                     // bytes that the parent needs more
	LinkOnly     bool                    // another process is in charge of its MTU
}

// IndexFields returns the name in the kernel and the name of the TAP; see
// api.IndexedMetadata.
func (m LinuxIfMetadata) IndexFields() map[string][]string {
	fields := map[string][]string{"host-iface-name": {m.HostIfName}}
	if m.VPPTapName != "" {
		fields["tap-vpp-name"] = []string{m.VPPTapName}
	}
	return fields
}

// ByHostName finds interfaces by their name in the kernel; see HostKey.
var ByHostName = idxmap.Index[LinuxIfMetadata, string]{
	Name: "host-iface-name",
	Keys: func(m LinuxIfMetadata) []string { return []string{HostKey(m.Namespace, m.HostIfName)} },
}

// ByTapName finds interfaces by the logical name of the TAP in VPP.
var ByTapName = idxmap.Index[LinuxIfMetadata, string]{
	Name: "tap-vpp-name",
	Keys: func(m LinuxIfMetadata) []string {
		if m.VPPTapName == "" {
			return nil
		}
		return []string{m.VPPTapName}
	},
}

// ByLink finds interfaces by their link in the kernel.
var ByLink = idxmap.Index[LinuxIfMetadata, Link]{
	Name: "link",
	Keys: func(m LinuxIfMetadata) []Link { return []Link{LinkIn(m.Namespace, m.LinuxIfIndex)} },
}

// ByParent finds interfaces by the logical name of the link that their MTU depends on.
var ByParent = idxmap.Index[LinuxIfMetadata, string]{
	Name: "parent",
	Keys: func(m LinuxIfMetadata) []string {
		if m.Parent == "" {
			return nil
		}
		return []string{m.Parent}
	},
}

// Link is a link in a namespace; see LinkIn.
type Link struct {
	namespace string
	index     int
}

// LinkIn returns the key in ByLink of a link in a namespace; nil is the agent's own.
func LinkIn(ns *namespace.NetNamespace, index int) Link { return Link{nsmodel.Text(ns), index} }

// HostKey is the key in ByHostName of an interface in a namespace; nil is the
// agent's own.
func HostKey(ns *namespace.NetNamespace, host string) string {
	if nsmodel.IsOwn(ns) {
		return host
	}
	return fmt.Sprintf("%s/%s/%s", ns.GetType(), ns.GetReference(), host)
}

// Index looks interfaces up by logical name. It may be used concurrently.
type Index interface {
	// Get returns where an interface is; false if it is not configured (yet).
	Get(name string) (LinuxIfMetadata, bool)
	// All iterates over all interfaces by name.
	All() iter.Seq2[string, LinuxIfMetadata]
	// AtLink lists the interfaces whose link this is, usually at most one. It costs no
	// scan.
	AtLink(link Link) []string
	// OnParent lists the interfaces whose MTU depends on an interface. It costs no scan.
	OnParent(name string) []string
	// Namespaces lists the namespaces of all interfaces, each once.
	Namespaces() []*namespace.NetNamespace
}

// Maps is the part of the scheduler that has metadata maps.
type Maps interface {
	GetMetadataMap(descriptor string) idxmap.Reader
}

// Of returns the index of a scheduler, whether linux-interface is registered
// there already or later.
func Of(scheduler Maps) Index { return lazy{scheduler} }

type lazy struct{ scheduler Maps }

// Get implements Index.
func (l lazy) Get(name string) (LinuxIfMetadata, bool) {
	m, err := idxmap.Of[LinuxIfMetadata](l.scheduler.GetMetadataMap(Descriptor))
	if err != nil {
		return LinuxIfMetadata{}, false
	}
	return m.Get(name)
}

// All implements Index.
func (l lazy) All() iter.Seq2[string, LinuxIfMetadata] {
	m, err := idxmap.Of[LinuxIfMetadata](l.scheduler.GetMetadataMap(Descriptor))
	if err != nil {
		return func(func(string, LinuxIfMetadata) bool) {}
	}
	return m.All()
}

// AtLink implements Index.
func (l lazy) AtLink(link Link) []string {
	m, err := idxmap.Of[LinuxIfMetadata](l.scheduler.GetMetadataMap(Descriptor))
	if err != nil {
		return nil
	}
	return ByLink.Lookup(m, link)
}

// OnParent implements Index.
func (l lazy) OnParent(name string) []string {
	m, err := idxmap.Of[LinuxIfMetadata](l.scheduler.GetMetadataMap(Descriptor))
	if err != nil {
		return nil
	}
	return ByParent.Lookup(m, name)
}

// Namespaces implements Index.
func (l lazy) Namespaces() []*namespace.NetNamespace {
	var all []*namespace.NetNamespace
	seen := map[string]bool{}
	for _, meta := range l.All() {
		if text := nsmodel.Text(meta.Namespace); !seen[text] {
			seen[text] = true
			all = append(all, meta.Namespace)
		}
	}
	return all
}

// Opener opens the namespace of an interface.
type Opener interface {
	Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
}

// Place is an interface as it was found in the kernel. Close it.
type Place struct {
	netlinkapi.Handle
	Link netlinkapi.Link
	Meta LinuxIfMetadata
}

// Find opens the namespace of an interface and checks that the link is there:
// the very one that was configured, not a later one of the same name. The error
// is netlinkapi.ErrNotFound or netlinkapi.ErrNamespaceGone if it is not.
func Find(ctx context.Context, index Index, namespaces Opener, name string) (*Place, error) {
	meta, ok := index.Get(name)
	if !ok {
		return nil, fmt.Errorf("interface %q is not configured: %w", name, netlinkapi.ErrNotFound)
	}
	h, err := namespaces.Open(ctx, meta.Namespace)
	if err != nil {
		return nil, fmt.Errorf("interface %q: %w", name, err)
	}
	link, err := h.LinkByName(ctx, meta.HostIfName)
	if err == nil && link.Index != meta.LinuxIfIndex {
		err = fmt.Errorf("link %q was replaced by another one: %w", meta.HostIfName, netlinkapi.ErrNotFound)
	}
	if err != nil {
		_ = h.Close() // the missing link is what the caller must know
		return nil, fmt.Errorf("interface %q: %w", name, err)
	}
	return &Place{h, link, meta}, nil
}
