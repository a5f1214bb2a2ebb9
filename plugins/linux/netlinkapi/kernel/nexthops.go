package kernel

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// Sizes and offsets from linux/nexthop.h.
const (
	sizeofNexthop       = 8 // struct nhmsg
	sizeofNexthopMember = 8 // struct nexthop_grp
	nexthopProtocol     = 2 // in struct nhmsg
	nexthopFlags        = 4
	groupTypeMultipath  = 0
	nhaFDB              = 11 // NHA_FDB
)

// nexthopHeader is the data of a request for all objects.
type nexthopHeader [sizeofNexthop]byte

// Len implements nl.NetlinkRequestData.
func (h nexthopHeader) Len() int { return len(h) }

// Serialize implements nl.NetlinkRequestData.
func (h nexthopHeader) Serialize() []byte { return h[:] }

// nexthops are the nexthop objects of a namespace.
type nexthops struct{ *lease }

// Nexthops lists nexthop objects. A kernel without them, before 5.3, has none.
func (h nexthops) Nexthops(ctx context.Context) ([]netlinkapi.Nexthop, error) {
	return dump(ctx, h.lease, "list nexthop objects", func() ([]netlinkapi.Nexthop, error) {
		r := nl.NewNetlinkRequest(unix.RTM_GETNEXTHOP, unix.NLM_F_DUMP)
		r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: h.ns.links}
		r.AddData(nexthopHeader{})
		messages, err := r.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEXTHOP)
		if is(err, unix.EOPNOTSUPP) {
			return nil, nil
		}
		var all []netlinkapi.Nexthop
		for _, m := range messages {
			if n, ok := parseNexthop(m); ok {
				all = append(all, n)
			}
		}
		return all, err
	})
}

// parseNexthop reads a message about an object; false if it is of a type that is not read.
func parseNexthop(data []byte) (n netlinkapi.Nexthop, ok bool) {
	if len(data) < sizeofNexthop {
		return n, false
	}
	n.IPv6, n.Protocol = data[0] == unix.AF_INET6, netlinkapi.Protocol(data[nexthopProtocol])
	hop := hopMessage{NextHop: netlinkapi.NextHop{OnLink: binary.NativeEndian.Uint32(data[nexthopFlags:])&unix.RTNH_F_ONLINK != 0}}
	for kind, value := range attributes(data[sizeofNexthop:]) {
		switch kind & nl.NLA_TYPE_MASK {
		case unix.NHA_ID:
			n.ID = uint32(int32At(value))
		case unix.NHA_GROUP:
			n.Members = parseMembers(value)
		case unix.NHA_GROUP_TYPE:
			if len(value) < 2 || binary.NativeEndian.Uint16(value) != groupTypeMultipath {
				return n, false
			}
		case unix.NHA_BLACKHOLE:
			n.Blackhole = true
		case unix.NHA_OIF:
			hop.Link = int32At(value)
		case unix.NHA_GATEWAY:
			gateway, _ := netip.AddrFromSlice(value)
			hop.Gateway = gateway.Unmap()
		case unix.NHA_ENCAP_TYPE:
			hop.attribute(unix.RTA_ENCAP_TYPE, value)
		case unix.NHA_ENCAP:
			hop.attribute(unix.RTA_ENCAP, value)
		case nhaFDB: // of a bridge
			return n, false
		}
	}
	if !n.Blackhole {
		n.NextHop = hop.NextHop
	}
	return n, n.ID != 0
}

func parseMembers(data []byte) (members []netlinkapi.NexthopMember) {
	for ; len(data) >= sizeofNexthopMember; data = data[sizeofNexthopMember:] {
		members = append(members, netlinkapi.NexthopMember{ID: binary.NativeEndian.Uint32(data), Weight: uint32(data[4]) + 1})
	}
	return members
}

func (h nexthops) AddNexthop(ctx context.Context, n netlinkapi.Nexthop) error {
	return h.setNexthop(ctx, "add", unix.NLM_F_CREATE|unix.NLM_F_EXCL, n)
}

func (h nexthops) ReplaceNexthop(ctx context.Context, n netlinkapi.Nexthop) error {
	return h.setNexthop(ctx, "replace", unix.NLM_F_CREATE|unix.NLM_F_REPLACE, n)
}

func (h nexthops) DeleteNexthop(ctx context.Context, id uint32) error {
	r := newRequest(unix.RTM_DELNEXTHOP, 0, make([]byte, sizeofNexthop))
	r.add(unix.NHA_ID, u32(id))
	return h.change(ctx, fmt.Sprintf("delete nexthop object %d", id), func() error { return h.ns.exchange([]request{r})[0] })
}

func (h nexthops) setNexthop(ctx context.Context, verb string, flags int, n netlinkapi.Nexthop) error {
	what := fmt.Sprintf("%s nexthop object %d", verb, n.ID)
	return h.call(ctx, func() error {
		err := h.ns.exchange([]request{nexthopRequest(flags, n)})[0]
		switch {
		case is(err, unix.EOPNOTSUPP) && n.Labelled():
			return fmt.Errorf("%s: %w", what, errNoMPLS)
		case is(err, unix.ENETDOWN):
			return fmt.Errorf("%s: %w (has the interface a carrier? a blackhole needs the loopback up)", what, err)
		}
		return classify(what, err)
	})
}

// nexthopRequest encodes an object.
func nexthopRequest(flags int, n netlinkapi.Nexthop) request {
	header := make([]byte, sizeofNexthop)
	header[nexthopProtocol] = uint8(n.Protocol)
	binary.NativeEndian.PutUint32(header[nexthopFlags:], uint32(onLink(n.NextHop)))
	switch {
	case len(n.Members) > 0:
		header[0] = unix.AF_UNSPEC
	case n.IPv6:
		header[0] = unix.AF_INET6
	default:
		header[0] = unix.AF_INET
	}
	r := newRequest(unix.RTM_NEWNEXTHOP, flags, header)
	r.add(unix.NHA_ID, u32(n.ID))
	switch {
	case len(n.Members) > 0:
		r.add(unix.NHA_GROUP, groupOf(n.Members))
	case n.Blackhole:
		r.add(unix.NHA_BLACKHOLE, nil)
	default:
		r.add(unix.NHA_OIF, u32(uint32(n.Link)))
		if n.Gateway.IsValid() {
			r.add(unix.NHA_GATEWAY, n.Gateway.AsSlice())
		}
		if n.Labelled() {
			r.addLabels(unix.NHA_ENCAP_TYPE, unix.NHA_ENCAP, n.Labels)
		}
	}
	return r
}

func groupOf(members []netlinkapi.NexthopMember) []byte {
	var data []byte
	for _, m := range members {
		data = binary.NativeEndian.AppendUint32(data, m.ID)
		data = append(data, uint8(max(m.Weight, 1)-1), 0, 0, 0)
	}
	return data
}

// nexthopEvents returns the events of a message about an object that the agent has not just made.
func nexthopEvents(kind uint16, data []byte) []netlinkapi.Event {
	n, ok := parseNexthop(data)
	if !ok || kind == unix.RTM_NEWNEXTHOP && n.Protocol == netlinkapi.ProtocolAgent {
		return nil
	}
	return []netlinkapi.Event{{Kind: netlinkapi.NexthopRemoved, Nexthop: n.ID}}
}
