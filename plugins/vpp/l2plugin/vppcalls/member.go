package vppcalls

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Member is an interface in a bridge domain.
type Member struct {
	SwIfIndex         ifIndex
	BVI               bool
	SplitHorizonGroup uint8
	// Tagged: what happens to its VLAN tags must outlive that it leaves.
	Tagged bool
}

// place is where in layer 2 an interface is.
type place struct {
	connected bool
	to        uint32 // number of the bridge domain, or index of the interface that it sends to
}

// sameAs reports that VPP needs not take an interface out of p to put it into q.
func (p place) sameAs(q place) bool {
	return p.connected == q.connected && (p.connected || p.to == q.to)
}

// attached remembers where the interfaces are, as far as it was seen in the session: VPP reports
// it only for all at once.
type attached struct {
	mu sync.Mutex
	at map[ifIndex]place
}

var attachments = session.NewState(func() *attached { return &attached{at: map[ifIndex]place{}} })

// other returns the place of an interface if it is another one than p.
func (a *attached) other(which ifIndex, p place) (at place, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok = a.at[which]
	return at, ok && !at.sameAs(p)
}

func (a *attached) put(which ifIndex, p place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at[which] = p
}

func (a *attached) remove(which ifIndex) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, which)
}

// seen calls f with the places that were seen in the session, in the order of the interfaces.
func (c *Calls) seen(f func(which ifIndex, at place)) {
	known, err := attachments.On(c.vpp)
	if err != nil {
		return
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	for _, which := range slices.Sorted(maps.Keys(known.at)) {
		f(which, known.at[which])
	}
}

// learn replaces what is known about the places of one kind by what VPP has.
func (c *Calls) learn(connected bool, all map[ifIndex]place) {
	known, err := attachments.On(c.vpp)
	if err != nil {
		return
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	maps.DeleteFunc(known.at, func(_ ifIndex, p place) bool { return p.connected == connected })
	maps.Copy(known.at, all)
}

// members is the operation of AddMember and RemoveMember.
var members = session.Require("bridge domain: interfaces", "",
	(*l2.SwInterfaceSetL2Bridge)(nil), (*l2.SwInterfaceSetL2BridgeReply)(nil))

// BridgedError reports that an interface is in a bridge domain already.
type BridgedError struct {
	// Name and ID of the bridge domain.
	Name string
	ID   uint32
}

// Error implements error.
func (e *BridgedError) Error() string {
	return fmt.Sprintf("is in bridge domain %q (number %d) already", e.Name, e.ID)
}

// CrossConnectedError reports that an interface is cross-connected already.
type CrossConnectedError struct {
	// Tx is the index of the interface that everything is sent out of.
	Tx uint32
}

// Error implements error.
func (e *CrossConnectedError) Error() string {
	return fmt.Sprintf("is cross-connected to the interface with index %d already", e.Tx)
}

// AddMember puts an interface into a bridge domain. It is a BridgedError if the
// interface is in another one, a CrossConnectedError if it is cross-connected: VPP
// would take it out of there.
func (c *Calls) AddMember(ctx context.Context, id uint32, m Member) error {
	req := m.request(id)
	req.Shg, req.Enable = m.SplitHorizonGroup, true
	return c.attach(ctx, members, m.SwIfIndex, m.Tagged, place{to: id}, req, &l2.SwInterfaceSetL2BridgeReply{})
}

// Members returns the interfaces of a bridge domain, as far as they were seen in the session.
func (c *Calls) Members(id uint32) (all []ifIndex) {
	c.seen(func(which ifIndex, at place) {
		if !at.connected && at.to == id {
			all = append(all, which)
		}
	})
	return all
}

// RemoveMember takes an interface out of a bridge domain, unless it is in
// another one, or cross-connected, by now.
func (c *Calls) RemoveMember(ctx context.Context, id uint32, m Member) error {
	return c.detach(ctx, m.SwIfIndex, m.Tagged, place{to: id}, m.request(id), &l2.SwInterfaceSetL2BridgeReply{})
}

func (m Member) request(id uint32) *l2.SwInterfaceSetL2Bridge {
	req := &l2.SwInterfaceSetL2Bridge{RxSwIfIndex: m.SwIfIndex, BdID: id}
	if m.BVI {
		req.PortType = l2.L2_API_PORT_TYPE_BVI
	}
	return req
}

// attach puts an interface into a place with a request. tagged: it is an interface whose
// VLAN tags are rewritten; all others have no rewrite in there.
func (c *Calls) attach(ctx context.Context, op *session.Operation[struct{}], which ifIndex, tagged bool, to place, req, reply api.Message) error {
	if err := op.Check(c.vpp); err != nil {
		return err
	}
	known, err := attachments.On(c.vpp)
	if err != nil {
		return err
	}
	if at, ok := known.other(which, to); ok {
		if err := c.checkFree(ctx, which, at.connected, to); err != nil {
			return err
		}
	}
	if !tagged {
		if err := c.clearRewrite(ctx, which); err != nil {
			return err
		}
	}
	if err := c.vpp.Call(ctx, req, reply); err != nil {
		return err
	}
	known.put(which, to)
	return nil
}

// checkFree asks VPP whether an interface is in another place than p.
func (c *Calls) checkFree(ctx context.Context, which ifIndex, connected bool, p place) error {
	if connected {
		all, err := c.DumpConnections(ctx)
		for _, x := range all {
			if x.Rx == which {
				return &CrossConnectedError{Tx: uint32(x.Tx)}
			}
		}
		return err
	}
	all, err := c.DumpBridgeDomains(ctx)
	for _, bd := range all {
		for _, m := range bd.SwIfDetails {
			if m.SwIfIndex == which && !p.sameAs(place{to: bd.BdID}) {
				return &BridgedError{Name: bd.BdTag, ID: bd.BdID}
			}
		}
	}
	return err
}

// detach takes an interface out of a place with a request, unless it is in another one by now.
func (c *Calls) detach(ctx context.Context, which ifIndex, tagged bool, from place, req, reply api.Message) error {
	known, err := attachments.On(c.vpp)
	if err != nil {
		return err
	}
	if _, ok := known.other(which, from); ok {
		return nil
	}
	if err := c.leave(ctx, which, tagged, req, reply); err != nil && !session.Gone(err) {
		return err
	}
	known.remove(which)
	return nil
}
