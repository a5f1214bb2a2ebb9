package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// neighbours implements netlinkapi.Neighbours.
type neighbours struct{ *lease }

func (n neighbours) Neighbours(ctx context.Context) ([]netlinkapi.Neighbour, error) {
	return ask(ctx, n.lease, n.ns.neighbours)
}

func (ns *namespace) neighbours() ([]netlinkapi.Neighbour, error) {
	found, err := readAll("list neighbours", func() ([]netlink.Neigh, error) {
		return ns.route.NeighList(0, netlink.FAMILY_ALL)
	})
	if err != nil {
		return nil, err
	}
	all := make([]netlinkapi.Neighbour, 0, len(found))
	for _, f := range found {
		ip, ok := netip.AddrFromSlice(f.IP)
		if !ok || f.Family != netlink.FAMILY_V4 && f.Family != netlink.FAMILY_V6 {
			continue // an entry of a bridge
		}
		all = append(all, netlinkapi.Neighbour{
			Link: f.LinkIndex, IP: ip.Unmap(), MAC: f.HardwareAddr, Permanent: f.State&netlink.NUD_PERMANENT != 0,
		})
	}
	return all, nil
}

// AddNeighbour asks for the entry that is there only if there is one.
func (n neighbours) AddNeighbour(ctx context.Context, entry netlinkapi.Neighbour) error {
	op := fmt.Sprintf("add neighbour %s", entry.IP)
	return n.call(ctx, func() error {
		err := n.ns.route.NeighAdd(neigh(entry))
		if !errors.Is(err, unix.EEXIST) {
			return classify(op, err)
		}
		permanent, err := n.ns.permanent(entry)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", op, err)
		case permanent:
			return classify(op, unix.EEXIST)
		}
		return classify(op, n.ns.route.NeighSet(neigh(entry)))
	})
}

func (n neighbours) SetNeighbour(ctx context.Context, entry netlinkapi.Neighbour) error {
	return n.change(ctx, fmt.Sprintf("set neighbour %s", entry.IP), func() error { return n.ns.route.NeighSet(neigh(entry)) })
}

func (n neighbours) DeleteNeighbour(ctx context.Context, entry netlinkapi.Neighbour) error {
	return n.change(ctx, fmt.Sprintf("delete neighbour %s", entry.IP), func() error { return n.ns.route.NeighDel(neigh(entry)) })
}

// stateOffset is the offset of the state in struct ndmsg.
const stateOffset = 8

// permanent reports whether there is a permanent entry of a neighbour.
func (ns *namespace) permanent(entry netlinkapi.Neighbour) (bool, error) {
	r := nl.NewNetlinkRequest(unix.RTM_GETNEIGH, 0)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: ns.links}
	r.AddData(&netlink.Ndmsg{Family: uint8(family(entry.IP)), Index: uint32(entry.Link)})
	r.AddData(nl.NewRtAttr(unix.NDA_DST, entry.IP.AsSlice()))
	messages, err := r.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEIGH)
	switch {
	case is(err, unix.ENOENT):
		return false, nil // it has just gone
	case is(err, unix.EOPNOTSUPP): // a kernel before 5.0 reads all or none
		all, err := ns.neighbours()
		return slices.ContainsFunc(all, func(o netlinkapi.Neighbour) bool {
			return o.Link == entry.Link && o.IP == entry.IP && o.Permanent
		}), err
	case err != nil:
		return false, classify("read the entry that exists", err)
	}
	return slices.ContainsFunc(messages, func(m []byte) bool {
		return len(m) >= unix.SizeofNdMsg && binary.NativeEndian.Uint16(m[stateOffset:])&netlink.NUD_PERMANENT != 0
	}), nil
}

func neigh(n netlinkapi.Neighbour) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex:    n.Link,
		Family:       family(n.IP),
		State:        netlink.NUD_PERMANENT,
		Type:         unix.RTN_UNICAST,
		IP:           n.IP.AsSlice(),
		HardwareAddr: n.MAC,
	}
}
