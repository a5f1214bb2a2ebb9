// Package descriptor teaches the scheduler the interfaces of Linux: links of
// all kinds, their addresses and VRFs, and what the kernel has besides.
//
// Links that the agent made carry an alias: "/vnf-agent/<label of the agent>/<name>"
// and, behind another slash, what the kind of link needs to be recognised. That is
// how they are distinguished from foreign ones, which are never touched, and how they
// are found again after a restart. The predecessor has the same aliases, so that each
// takes over the links of the other. For kinds of links that it does not know, and for
// names with slashes, the alias is "<label>/<name>", where names are escaped as in URLs.
package descriptor

import (
	"context"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	alloc "github.com/tenuto-dev/tenuto/plugins/netalloc"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Deps is what the descriptors of this package need.
type Deps struct {
	// Namespaces opens network namespaces.
	Namespaces Namespaces
	// Index is where configured interfaces are found; see ifaceidx.Of.
	Index ifaceidx.Index
	// Label is the label of the agent, the owner of what it makes.
	Label string
	// TAPs knows the TAPs of VPP; nil if there is no VPP in this agent.
	TAPs TAPs
	// Allocated are the addresses that ip_addresses may refer to.
	Allocated alloc.Addresses
	// WireguardGo is the program that makes WireGuard links if the kernel cannot; empty: none.
	WireguardGo string
	// Former remembers kernel parameters.
	Former *Former
	// Lifetimes knows when addresses expire; nil: addresses that have expired are assigned again.
	Lifetimes *Lifetimes
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

// TAPs knows how the Linux sides of the TAPs of VPP are called.
type TAPs interface {
	// TapHostName returns the name in the kernel that VPP gave to the Linux side
	// of the TAP with the given logical name.
	TapHostName(tap string) (host string, ok bool)
}

// place is a link in its namespace. Close it.
type place struct {
	netlinkapi.Handle
	link netlinkapi.Link
}

func closePlace(p *place) {
	if p != nil {
		closeHandle(p)
	}
}

// closeHandle ends a lease; that cannot fail in a way that matters here.
func closeHandle(h netlinkapi.Handle) { _ = h.Close() }

// locate finds the link that the metadata identifies: the same link, not a later one with its
// name.
func (d Deps) locate(ctx context.Context, meta ifaceidx.LinuxIfMetadata) (*place, error) {
	h, err := d.Namespaces.Open(ctx, meta.Namespace)
	if err != nil {
		return nil, err
	}
	link, err := h.LinkByName(ctx, meta.HostIfName)
	if err == nil && link.Index != meta.LinuxIfIndex {
		err = fmt.Errorf("link %q was replaced by another one: %w", meta.HostIfName, netlinkapi.ErrNotFound)
	}
	if err != nil {
		closeHandle(h)
		return nil, err
	}
	return &place{h, link}, nil
}

// invalid is the error about one field of a value.
func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}
