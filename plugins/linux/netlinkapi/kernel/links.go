package kernel

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// handle is one lease of a namespace.
type handle struct {
	sockets
	nexthops
	neighbours
	k      *Kernel
	ns     *namespace
	closed bool
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

func (h *handle) AddVeth(name, peer string) error {
	err := h.ns.route.LinkAdd(&netlink.Veth{LinkAttrs: named(name), PeerName: peer})
	op := fmt.Sprintf("add veth pair %q, %q", name, peer)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%s: %w; load the module %s", op, netlinkapi.ErrUnsupported, module(netlinkapi.KindVeth))
	}
	return classify(op, err)
}

func (h *handle) DeleteLink(index int) error {
	return classify(fmt.Sprintf("delete link with index %d", index), h.ns.route.LinkDel(byIndex(index)))
}

func (h *handle) SetUp(index int, up bool) error {
	if up {
		return classify(fmt.Sprintf("set link with index %d up", index), h.ns.route.LinkSetUp(byIndex(index)))
	}
	return classify(fmt.Sprintf("set link with index %d down", index), h.ns.route.LinkSetDown(byIndex(index)))
}

func (h *handle) Rename(index int, name string) error {
	return classify(fmt.Sprintf("rename link to %q", name), h.ns.route.LinkSetName(byIndex(index), name))
}

func (h *handle) SetAlias(index int, alias string) error {
	return classify(fmt.Sprintf("set alias %q", alias), h.ns.route.LinkSetAlias(byIndex(index), alias))
}

func (h *handle) SetMTU(index, mtu int) error {
	return classify(fmt.Sprintf("set MTU %d", mtu), h.ns.route.LinkSetMTU(byIndex(index), mtu))
}

func (h *handle) SetMAC(index int, mac net.HardwareAddr) error {
	err := h.ns.route.LinkSetHardwareAddr(byIndex(index), mac)
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("set MAC address %s: expected the address of a single host", mac)
	}
	return classify(fmt.Sprintf("set MAC address %s", mac), err)
}

func (h *handle) SetMaster(index, master int) error {
	return classify(fmt.Sprintf("set master of link to index %d", master),
		h.ns.route.LinkSetMasterByIndex(byIndex(index), master))
}

func (h *handle) Move(index int, to netlinkapi.Handle) error {
	target, ok := to.(*handle)
	if !ok {
		return fmt.Errorf("move link: the target is not a namespace of the kernel but %T", to)
	}
	err := h.ns.route.LinkSetNsFd(byIndex(index), int(target.ns.file.Fd()))
	return classify(fmt.Sprintf("move link into network namespace %s", target.ns.id), err)
}
