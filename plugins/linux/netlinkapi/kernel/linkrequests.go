package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// The library reads and writes only some parameters of some kinds of links, so the
// requests about them are made here.

func (ns *namespace) linkRequest(kind, flags, index int) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: ns.links}
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(index)
	r.AddData(header)
	return r
}

// readLinks returns the links of a reply.
func (ns *namespace) readLinks(r *nl.NetlinkRequest) ([]netlinkapi.Link, error) {
	messages, err := r.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return nil, err
	}
	links, wireGuards := make([]netlinkapi.Link, len(messages)), map[int]string{}
	for i, m := range messages {
		l, err := netlink.LinkDeserialize(nil, m)
		if err != nil {
			return nil, err
		}
		links[i] = convertLink(l)
		if kind, data := linkInfo(m); kind != "" {
			links[i].Kind, links[i].Params = kind, params(kind, data)
		}
		if name := wireGuardName(l); name != "" {
			wireGuards[links[i].Index] = name
		}
	}
	return links, ns.completeWireGuard(links, wireGuards)
}

// linkInfo returns the kind of the link in a message, and its parameters.
func linkInfo(message []byte) (kind string, data infoData) {
	header := nl.NewIfInfomsg(unix.AF_UNSPEC).Len()
	if len(message) < header {
		return "", nil
	}
	data = infoData{}
	for n, value := range attributes(message[header:]) {
		if n&nl.NLA_TYPE_MASK != unix.IFLA_LINKINFO {
			continue
		}
		for n, value := range attributes(value) {
			switch n & nl.NLA_TYPE_MASK {
			case nl.IFLA_INFO_KIND:
				kind = unix.ByteSliceToString(value)
			case nl.IFLA_INFO_DATA:
				for n, value := range attributes(value) {
					data[n] = value
				}
			}
		}
	}
	return kind, data
}

func (h *handle) Links(ctx context.Context) ([]netlinkapi.Link, error) {
	return dump(ctx, h.lease, "list links", func() ([]netlinkapi.Link, error) {
		return h.ns.readLinks(h.ns.linkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP, 0))
	})
}

func (h *handle) LinkByName(ctx context.Context, name string) (netlinkapi.Link, error) {
	return ask(ctx, h.lease, func() (netlinkapi.Link, error) { return h.ns.linkByName(name) })
}

func (h *handle) LinkByIndex(ctx context.Context, index int) (netlinkapi.Link, error) {
	return ask(ctx, h.lease, func() (netlinkapi.Link, error) { return h.ns.linkByIndex(index) })
}

func (ns *namespace) linkByName(name string) (netlinkapi.Link, error) {
	r := ns.linkRequest(unix.RTM_GETLINK, 0, 0)
	r.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	return ns.oneLink(fmt.Sprintf("find link %q", name), r)
}

func (ns *namespace) linkByIndex(index int) (netlinkapi.Link, error) {
	return ns.oneLink(fmt.Sprintf("find link with index %d", index), ns.linkRequest(unix.RTM_GETLINK, 0, index))
}

func (ns *namespace) oneLink(op string, r *nl.NetlinkRequest) (netlinkapi.Link, error) {
	links, err := ns.readLinks(r)
	switch {
	case err != nil:
		return netlinkapi.Link{}, classify(op, err)
	case len(links) != 1:
		return netlinkapi.Link{}, fmt.Errorf("%s: the kernel returned %d links", op, len(links))
	}
	return links[0], nil
}

func (h *handle) AddLink(ctx context.Context, name string, p netlinkapi.LinkParams, parent int) error {
	return h.call(ctx, func() error { return h.ns.addLink(name, p, parent) })
}

func (ns *namespace) addLink(name string, p netlinkapi.LinkParams, parent int) error {
	op := fmt.Sprintf("add link %q of kind %s", name, p.Kind())
	if tun, ok := p.(netlinkapi.TUN); ok {
		if _, err := ns.linkByName(name); err == nil { // the driver would attach to it
			return classify(op, unix.EEXIST)
		}
		return classify(op, ns.inside(func() error { return addTUN(name, tun) }))
	}
	r := ns.linkRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK, 0)
	r.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	if parent != 0 {
		r.AddData(nl.NewRtAttr(unix.IFLA_LINK, u32(uint32(parent))))
	}
	data := fixed(p, parent)
	data.changeable(p)
	r.AddData(linkInfoAttribute(p.Kind(), data))
	_, err := r.Execute(unix.NETLINK_ROUTE, 0)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) && filters(p):
		return fmt.Errorf("%s: %w", op, errNoVLANFiltering)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%s: %w; load the module %s", op, netlinkapi.ErrUnsupported, module(p.Kind()))
	case errors.Is(err, unix.EBUSY): // a MACVLAN on the parent of an IPVLAN, for example
		return fmt.Errorf("%s: the parent is used by other links in a way that excludes it: %w", op, err)
	}
	return classify(op, err)
}

// modules are the modules of kinds of links that have another name than the kind.
var modules = map[string]string{netlinkapi.KindVLAN: "8021q", netlinkapi.KindBond: "bonding", netlinkapi.KindGRE: "ip_gre"}

// module returns the name of the module for a kind of links.
func module(kind string) string { return cmp.Or(modules[kind], kind) }

func (h *handle) ChangeLink(ctx context.Context, index int, p netlinkapi.LinkParams) error {
	return h.call(ctx, func() error { return h.ns.changeLink(index, p) })
}

func (ns *namespace) changeLink(index int, p netlinkapi.LinkParams) error {
	if w, ok := p.(netlinkapi.WireGuard); ok {
		return ns.changeWireGuard(index, w)
	}
	op := fmt.Sprintf("change link with index %d of kind %s", index, p.Kind())
	r := ns.linkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK, index)
	data := infoData{}
	data.changeable(p)
	if p.Kind() == netlinkapi.KindBridge && !filters(p) {
		now, err := ns.linkByIndex(index)
		if err != nil {
			return err
		}
		if filters(now.Params) {
			data[nl.IFLA_BR_VLAN_FILTERING] = flag(false)
		}
	}
	r.AddData(linkInfoAttribute(p.Kind(), data))
	_, err := r.Execute(unix.NETLINK_ROUTE, 0)
	if errors.Is(err, unix.EOPNOTSUPP) && filters(p) {
		return fmt.Errorf("%s: %w", op, errNoVLANFiltering)
	}
	return classify(op, err)
}

func linkInfoAttribute(kind string, data infoData) *nl.RtAttr {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated(kind))
	nested := info.AddRtAttr(nl.IFLA_INFO_DATA, nil)
	for n, value := range data {
		nested.AddRtAttr(int(n), value)
	}
	return info
}

// addTUN makes a persistent device in the namespace of the thread.
func addTUN(name string, p netlinkapi.TUN) error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if is(err, unix.ENOENT, unix.ENODEV, unix.ENXIO) {
		return fmt.Errorf("/dev/net/tun: %w; load the module tun", netlinkapi.ErrUnsupported)
	}
	if err != nil {
		return fmt.Errorf("open /dev/net/tun: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	flags := uint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if p.TAP {
		flags = unix.IFF_TAP | unix.IFF_NO_PI
	}
	if p.MultiQueue {
		flags |= unix.IFF_MULTI_QUEUE
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return err
	}
	if p.Owner != 0 {
		if err := unix.IoctlSetInt(fd, unix.TUNSETOWNER, int(p.Owner)); err != nil {
			return err
		}
	}
	if p.Group != 0 {
		if err := unix.IoctlSetInt(fd, unix.TUNSETGROUP, int(p.Group)); err != nil {
			return err
		}
	}
	return unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1)
}
