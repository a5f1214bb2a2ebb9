package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// handle is one lease of a namespace, with all that can be done in it.
type handle struct {
	*lease
	sockets
	nexthops
	neighbours
	k      *Kernel
	closed bool
}

// lease is the use of a namespace by one handle. Whatever the methods of the handle ask the kernel for,
// they ask inside call, ask or dump.
type lease struct {
	ns   *namespace
	gate netlinkapi.Gate
}

// call runs a method of a handle, which asks the kernel. Its errors are complete.
func (l *lease) call(ctx context.Context, f func() error) error { return l.gate.Pass(ctx, f) }

// change is call for a method whose error is classified.
func (l *lease) change(ctx context.Context, op string, f func() error) error {
	return l.call(ctx, func() error { return classify(op, f()) })
}

// ask is lease.call for a method that returns something.
func ask[T any](ctx context.Context, l *lease, f func() (T, error)) (result T, err error) {
	err = l.call(ctx, func() error {
		result, err = f()
		return err
	})
	return result, err
}

func (h *handle) Namespace() netlinkapi.NamespaceID { return h.ns.id }

// Close ends the lease. The sockets stay open for a while.
func (h *handle) Close() error {
	if !h.closed {
		h.closed = true
		h.k.release(h.ns)
	}
	return nil
}

func convertLink(l netlink.Link) netlinkapi.Link {
	a := l.Attrs()
	link := netlinkapi.Link{
		Index:    a.Index,
		Name:     a.Name,
		Alias:    a.Alias,
		Kind:     l.Type(),
		Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0,
		MTU:      a.MTU,
		MAC:      a.HardwareAddr,
		Up:       a.RawFlags&unix.IFF_UP != 0,
		Running:  a.RawFlags&unix.IFF_RUNNING != 0,
		Master:   a.MasterIndex,
		Parent:   a.ParentIndex,
		Queues:   netlinkapi.LinkQueues{RX: a.NumRxQueues, TX: a.NumTxQueues, Length: a.TxQLen},
	}
	if s := a.Statistics; s != nil {
		link.Counters = netlinkapi.Counters{
			RXPackets: s.RxPackets, TXPackets: s.TxPackets, RXBytes: s.RxBytes, TXBytes: s.TxBytes,
			RXErrors: s.RxErrors, TXErrors: s.TxErrors, RXDropped: s.RxDropped, TXDropped: s.TxDropped,
		}
	}
	if link.Kind == "device" { // the library's word for "no kind"
		link.Kind = ""
	}
	return link
}

func named(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func byIndex(index int) netlink.Link {
	return &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: index}}
}

func (h *handle) AddVeth(ctx context.Context, name, peer string) error {
	op := fmt.Sprintf("add veth pair %q, %q", name, peer)
	return h.call(ctx, func() error {
		err := h.ns.route.LinkAdd(&netlink.Veth{LinkAttrs: named(name), PeerName: peer})
		if errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("%s: %w; load the module %s", op, netlinkapi.ErrUnsupported, module(netlinkapi.KindVeth))
		}
		return classify(op, err)
	})
}

func (h *handle) DeleteLink(ctx context.Context, index int) error {
	return h.call(ctx, func() error { return h.ns.deleteLink(index) })
}

func (ns *namespace) deleteLink(index int) error {
	return classify(fmt.Sprintf("delete link with index %d", index), ns.route.LinkDel(byIndex(index)))
}

func (h *handle) SetUp(ctx context.Context, index int, up bool) error {
	if up {
		return h.change(ctx, fmt.Sprintf("set link with index %d up", index), func() error { return h.ns.route.LinkSetUp(byIndex(index)) })
	}
	return h.change(ctx, fmt.Sprintf("set link with index %d down", index), func() error { return h.ns.route.LinkSetDown(byIndex(index)) })
}

func (h *handle) Rename(ctx context.Context, index int, name string) error {
	return h.change(ctx, fmt.Sprintf("rename link to %q", name), func() error { return h.ns.route.LinkSetName(byIndex(index), name) })
}

func (h *handle) SetAlias(ctx context.Context, index int, alias string) error {
	return h.change(ctx, fmt.Sprintf("set alias %q", alias), func() error { return h.ns.route.LinkSetAlias(byIndex(index), alias) })
}

func (h *handle) SetMTU(ctx context.Context, index, mtu int) error {
	return h.change(ctx, fmt.Sprintf("set MTU %d", mtu), func() error { return h.ns.route.LinkSetMTU(byIndex(index), mtu) })
}

func (h *handle) SetMAC(ctx context.Context, index int, mac net.HardwareAddr) error {
	return h.call(ctx, func() error {
		err := h.ns.route.LinkSetHardwareAddr(byIndex(index), mac)
		if errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("set MAC address %s: expected the address of a single host", mac)
		}
		return classify(fmt.Sprintf("set MAC address %s", mac), err)
	})
}

func (h *handle) SetMaster(ctx context.Context, index, master int) error {
	return h.change(ctx, fmt.Sprintf("set master of link to index %d", master),
		func() error { return h.ns.route.LinkSetMasterByIndex(byIndex(index), master) })
}

func (h *handle) Move(ctx context.Context, index int, to netlinkapi.Handle) error {
	return h.call(ctx, func() error {
		target, ok := to.(*handle)
		if !ok {
			return fmt.Errorf("move link: the target is not a namespace of the kernel but %T", to)
		}
		err := h.ns.route.LinkSetNsFd(byIndex(index), int(target.ns.file.Fd()))
		return classify(fmt.Sprintf("move link into network namespace %s", target.ns.id), err)
	})
}
