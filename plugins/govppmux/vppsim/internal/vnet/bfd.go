package vnet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/bfd"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
)

// bfdSession is a session with a peer. There are no packets, so it is DOWN until BFDState says
// otherwise.
type bfdSession struct {
	bfdKey
	details bfd.BfdUDPSessionDetails
	// current and next are the keys in use; a delayed change waits for the peer for good.
	current, next *bfdAuthKey
}

// bfdKey identifies a session.
type bfdKey struct {
	out         uint32
	local, peer netip.Addr
}

type bfdAuthKey struct {
	id    uint32
	typ   uint8
	users uint32
}

// bfds are the sessions, keys and subscribers.
type bfds struct {
	*VNet
	sessions    pool[bfdSession]
	keys        pool[bfdAuthKey]
	echoSource  uint32
	subscribers map[uint32]uint32 // client index to the pid it gave
}

func newBfds(n *VNet) feature {
	n.bfds = &bfds{VNet: n}
	return n.bfds
}

func (fs *bfds) register(server *wire.Server) {
	handle[bfd.BfdUDPAddReply](server, fs.addSession)
	handle[bfd.BfdUDPModReply](server, fs.modify)
	handle[bfd.BfdUDPDelReply](server, func(req *bfd.BfdUDPDel) retval {
		index, s, rv := fs.sessionAt(req.SwIfIndex, req.LocalAddr, req.PeerAddr)
		if rv == ok {
			fs.removeSession(index, s)
		}
		return rv
	})
	handle[bfd.BfdUDPSessionSetFlagsReply](server, fs.setFlags)
	handle[bfd.BfdUDPAuthActivateReply](server, func(req *bfd.BfdUDPAuthActivate) retval {
		_, s, rv := fs.sessionAt(req.SwIfIndex, req.LocalAddr, req.PeerAddr)
		if rv != ok {
			return rv
		}
		return fs.activate(s, req.ConfKeyID, req.BfdKeyID, req.IsDelayed)
	})
	handle[bfd.BfdUDPAuthDeactivateReply](server, func(req *bfd.BfdUDPAuthDeactivate) retval {
		_, s, rv := fs.sessionAt(req.SwIfIndex, req.LocalAddr, req.PeerAddr)
		if rv == ok {
			fs.deactivate(s, req.IsDelayed)
		}
		return rv
	})
	wire.HandleDump(server, func(c *wire.Call, _ *bfd.BfdUDPSessionDump) {
		for _, s := range fs.sessions.all() {
			c.Send(&s.details)
		}
	})
	fs.registerKeys(server)
	fs.registerEvents(server)
}

func (fs *bfds) registerKeys(server *wire.Server) {
	handle[bfd.BfdAuthSetKeyReply](server, fs.setKey)
	handle[bfd.BfdAuthDelKeyReply](server, func(req *bfd.BfdAuthDelKey) retval {
		index, k := fs.key(req.ConfKeyID)
		switch {
		case k == nil:
			return api.BFD_ENOENT
		case k.users > 0:
			return api.BFD_EINUSE
		}
		fs.keys.remove(index)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, _ *bfd.BfdAuthKeysDump) {
		for _, k := range fs.keys.all() {
			c.Send(&bfd.BfdAuthKeysDetails{ConfKeyID: k.id, UseCount: k.users, AuthType: k.typ})
		}
	})
	handle[bfd.BfdUDPSetEchoSourceReply](server, func(req *bfd.BfdUDPSetEchoSource) retval {
		if fs.byIndex(req.SwIfIndex) == nil {
			return api.INVALID_SW_IF_INDEX
		}
		fs.echoSource = uint32(req.SwIfIndex)
		return ok
	})
	handle[bfd.BfdUDPDelEchoSourceReply](server, func(*bfd.BfdUDPDelEchoSource) retval {
		fs.echoSource = none
		return ok
	})
	wire.Handle(server, fs.getEchoSource)
}

func (fs *bfds) registerEvents(server *wire.Server) {
	wire.Handle(server, func(c *wire.Call, req *bfd.WantBfdEvents) *bfd.WantBfdEventsReply {
		_, subscribed := fs.subscribers[c.Client]
		switch {
		case subscribed == req.EnableDisable:
			return &bfd.WantBfdEventsReply{Retval: int32(api.INVALID_REGISTRATION)}
		case subscribed:
			delete(fs.subscribers, c.Client)
		default:
			fs.subscribers[c.Client] = req.PID
		}
		return &bfd.WantBfdEventsReply{}
	})
}

func (fs *bfds) reset() {
	fs.sessions, fs.keys, fs.echoSource = pool[bfdSession]{}, pool[bfdAuthKey]{}, none
	fs.subscribers = map[uint32]uint32{}
}

func (fs *bfds) clientGone(client uint32) { delete(fs.subscribers, client) }

func (fs *bfds) key(id uint32) (uint32, *bfdAuthKey) {
	return fs.keys.find(func(k *bfdAuthKey) bool { return k.id == id })
}

// setKey has the limits of VPP: SHA1 alone, with up to 20 bytes, and no change of a key in use.
func (fs *bfds) setKey(req *bfd.BfdAuthSetKey) retval {
	longest := map[uint8]uint8{1: 16, 2: 16, 3: 16, 4: 20, 5: 20}[req.AuthType]
	_, k := fs.key(req.ConfKeyID)
	switch {
	case req.KeyLen == 0 || req.KeyLen > longest:
		return api.INVALID_VALUE
	case req.AuthType < 4:
		return api.BFD_NOTSUPP
	case k != nil && k.users > 0:
		return api.BFD_EINUSE
	case k != nil:
		k.typ = req.AuthType
	default:
		fs.keys.add(&bfdAuthKey{id: req.ConfKeyID, typ: req.AuthType})
	}
	return ok
}

// sessionAt finds a session, or says why there is none.
func (fs *bfds) sessionAt(out ifIndex, local, peer ip_types.Address) (uint32, *bfdSession, retval) {
	key := bfdKey{uint32(out), addrOf(local), addrOf(peer)}
	if fs.byIndex(out) == nil {
		return none, nil, api.INVALID_SW_IF_INDEX
	}
	if key.local.Is4() != key.peer.Is4() {
		return none, nil, api.INVALID_ARGUMENT
	}
	index, s := fs.sessions.find(func(s *bfdSession) bool { return s.bfdKey == key })
	if s == nil {
		return none, nil, api.BFD_ENOENT
	}
	return index, s, ok
}

func (fs *bfds) addSession(req *bfd.BfdUDPAdd) retval {
	_, _, rv := fs.sessionAt(req.SwIfIndex, req.LocalAddr, req.PeerAddr)
	switch {
	case rv != ok && rv != api.BFD_ENOENT:
		return rv
	case req.DetectMult < 1 || req.DesiredMinTx < 1:
		return api.INVALID_ARGUMENT
	case rv == ok:
		return api.BFD_EEXIST
	}
	s := &bfdSession{
		bfdKey: bfdKey{uint32(req.SwIfIndex), addrOf(req.LocalAddr), addrOf(req.PeerAddr)},
		details: bfd.BfdUDPSessionDetails{
			SwIfIndex: req.SwIfIndex, LocalAddr: req.LocalAddr, PeerAddr: req.PeerAddr, State: bfd.BFD_STATE_API_DOWN,
			DesiredMinTx: req.DesiredMinTx, RequiredMinRx: req.RequiredMinRx, DetectMult: req.DetectMult,
		},
	}
	if req.IsAuthenticated {
		if rv := fs.activate(s, req.ConfKeyID, req.BfdKeyID, false); rv != ok {
			return rv
		}
	}
	fs.sessions.add(s)
	return ok
}

// modify checks nothing of what addSession does.
func (fs *bfds) modify(req *bfd.BfdUDPMod) retval {
	_, s, rv := fs.sessionAt(req.SwIfIndex, req.LocalAddr, req.PeerAddr)
	if rv == ok {
		s.details.DesiredMinTx, s.details.RequiredMinRx, s.details.DetectMult = req.DesiredMinTx, req.RequiredMinRx, req.DetectMult
	}
	return rv
}

// setFlags takes a session down that is up already: it is negotiated again.
func (fs *bfds) setFlags(req *bfd.BfdUDPSessionSetFlags) retval {
	_, s, rv := fs.sessionAt(req.SwIfIndex, req.LocalAddr, req.PeerAddr)
	switch {
	case rv != ok:
	case req.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0:
		fs.setState(s, bfd.BFD_STATE_API_DOWN)
	default:
		fs.setState(s, bfd.BFD_STATE_API_ADMIN_DOWN)
	}
	return rv
}

func (fs *bfds) activate(s *bfdSession, id uint32, keyID uint8, delayed bool) retval {
	_, k := fs.key(id)
	if k == nil {
		return api.BFD_ENOENT
	}
	slot := &s.current
	if delayed {
		slot = &s.next
	}
	if *slot != k {
		k.users++
		if !delayed && *slot != nil {
			(*slot).users--
		}
		*slot = k
	}
	s.details.IsAuthenticated, s.details.ConfKeyID, s.details.BfdKeyID = true, id, keyID
	return ok
}

// deactivate: a delayed one keeps the key in use for packets, but does not show it.
func (fs *bfds) deactivate(s *bfdSession, delayed bool) {
	if !delayed && s.current != nil {
		s.current.users--
		s.current = nil
	}
	if s.next != nil {
		s.next.users--
		s.next = nil
	}
	s.details.IsAuthenticated, s.details.ConfKeyID, s.details.BfdKeyID = false, 0, 0
}

func (fs *bfds) setState(s *bfdSession, state bfd.BfdState) {
	if s.details.State == state {
		return
	}
	s.details.State = state
	d := s.details
	for _, client := range slices.Sorted(maps.Keys(fs.subscribers)) {
		fs.server.SendEvent(client, &bfd.BfdUDPSessionEvent{
			SwIfIndex: d.SwIfIndex, LocalAddr: d.LocalAddr, PeerAddr: d.PeerAddr, State: d.State, IsAuthenticated: d.IsAuthenticated,
			BfdKeyID: d.BfdKeyID, ConfKeyID: d.ConfKeyID, RequiredMinRx: d.RequiredMinRx, DesiredMinTx: d.DesiredMinTx, DetectMult: d.DetectMult,
		})
	}
}

// removeSession sends no event.
func (fs *bfds) removeSession(index uint32, s *bfdSession) {
	for _, k := range []*bfdAuthKey{s.current, s.next} {
		if k != nil {
			k.users--
		}
	}
	fs.sessions.remove(index)
}

func (fs *bfds) interfaceRemoved(i *swInterface) {
	for index, s := range fs.sessions.all() {
		if s.out == i.index {
			fs.setState(s, bfd.BFD_STATE_API_ADMIN_DOWN)
			fs.removeSession(index, s)
		}
	}
}

// getEchoSource reports which addresses the echo packets have: of networks of the interface
// those next to its own ones.
func (fs *bfds) getEchoSource(_ *wire.Call, _ *bfd.BfdUDPGetEchoSource) *bfd.BfdUDPGetEchoSourceReply {
	reply := &bfd.BfdUDPGetEchoSourceReply{SwIfIndex: noInterface}
	if fs.echoSource == none {
		return reply
	}
	reply.IsSet, reply.SwIfIndex = true, ifIndex(fs.echoSource)
	i := fs.ifs.at(fs.echoSource)
	if i == nil {
		return reply
	}
	for _, f := range []family{ip4, ip6} {
		for _, a := range i.addresses[f] {
			addr, usable := neighbourAddr(a.prefix)
			switch {
			case !usable:
			case f == ip4 && !reply.HaveUsableIP4:
				reply.HaveUsableIP4, reply.IP4Addr = true, addr.As4()
			case f == ip6 && !reply.HaveUsableIP6:
				reply.HaveUsableIP6, reply.IP6Addr = true, addr.As16()
			}
		}
	}
	return reply
}

// neighbourAddr returns the address that differs from the one of a prefix in the last bit.
func neighbourAddr(p netip.Prefix) (netip.Addr, bool) {
	b := p.Addr().AsSlice()
	b[len(b)-1] ^= 1
	addr, _ := netip.AddrFromSlice(b)
	return addr, p.Bits() < p.Addr().BitLen()
}

// BFDState gives a session a state, as its peer would.
func (n *VNet) BFDState(out uint32, peer netip.Addr, state bfd.BfdState) error {
	_, s := n.bfds.sessions.find(func(s *bfdSession) bool { return s.out == out && s.peer == peer })
	if s == nil {
		return fmt.Errorf("interface %d has no BFD session with %s", out, peer)
	}
	n.bfds.setState(s, state)
	return nil
}

func (fs *bfds) dump(b *strings.Builder) {
	var lines []string
	for _, s := range fs.sessions.all() {
		d := &s.details
		lines = append(lines, fmt.Sprintf("bfd %s to %s on %s %s tx %d rx %d x%d auth %t %d %d\n", s.local, s.peer, fs.orStaleIf(s.out),
			strings.TrimPrefix(d.State.String(), "BFD_STATE_API_"), d.DesiredMinTx, d.RequiredMinRx, d.DetectMult, d.IsAuthenticated, d.ConfKeyID, d.BfdKeyID))
	}
	for _, k := range fs.keys.all() {
		lines = append(lines, fmt.Sprintf("bfd key %d type %d\n", k.id, k.typ))
	}
	if fs.echoSource != none {
		lines = append(lines, fmt.Sprintf("bfd echo source %s\n", fs.orStaleIf(fs.echoSource)))
	}
	dumpSorted(b, lines)
}
