package vppcalls

import (
	"context"
	"fmt"
	"sync"

	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Member is an interface in a bridge domain.
type Member struct {
	SwIfIndex         uint32
	BVI               bool
	SplitHorizonGroup uint8
	// Tagged: what happens to its VLAN tags must outlive that it leaves.
	Tagged bool
}

// attached remembers which bridge domain each interface is in and where it is
// cross-connected to, as far as it was seen in the session: VPP tells it only for
// all at once.
type attached struct {
	mu        sync.Mutex
	bd        map[uint32]uint32 // number of the bridge domain
	connected map[uint32]uint32 // where the interface sends to
}

func newAttached() *attached {
	return &attached{bd: make(map[uint32]uint32), connected: make(map[uint32]uint32)}
}

// noBridgeDomain is the number of no bridge domain.
const noBridgeDomain = ^uint32(0)

// elsewhere reports whether an interface is in another bridge domain than id.
func (a *attached) elsewhere(swIfIndex, id uint32) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, ok := a.bd[swIfIndex]
	return ok && now != id
}

func (a *attached) crossConnected(swIfIndex uint32) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.connected[swIfIndex]
	return ok
}

// change calls f, which changes what is remembered.
func (a *attached) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// learn replaces what is known about bridge domains by what VPP has.
func (a *attached) learn(all []BridgeDomainDetails) {
	a.change(func() {
		clear(a.bd)
		for _, bd := range all {
			for _, m := range bd.Members {
				a.bd[m.SwIfIndex] = bd.ID
			}
		}
	})
}

// learnConnections is learn for cross-connects.
func (a *attached) learnConnections(all []Connection) {
	a.change(func() {
		clear(a.connected)
		for _, c := range all {
			a.connected[c.Rx] = c.Tx
		}
	})
}

var attachments = session.NewState(newAttached)

// members is the operation of AddMember and RemoveMember.
var members = session.Require(&Operations, "bridge domain: interfaces", "",
	(*l2.SwInterfaceSetL2Bridge)(nil), (*l2.SwInterfaceSetL2BridgeReply)(nil))

// BridgedError is that of an interface that is in a bridge domain already.
type BridgedError struct {
	// Name and ID of the bridge domain.
	Name string
	ID   uint32
}

// Error implements error.
func (e *BridgedError) Error() string {
	return fmt.Sprintf("is in bridge domain %q (number %d) already", e.Name, e.ID)
}

// CrossConnectedError is that of an interface that is cross-connected already.
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
	if err := members.Check(c.vpp); err != nil {
		return err
	}
	known, err := attachments.On(c.vpp)
	if err != nil {
		return err
	}
	if err := c.checkFree(ctx, known, id, m.SwIfIndex); err != nil {
		return err
	}
	if err := c.checkNotConnected(ctx, known, m.SwIfIndex); err != nil {
		return err
	}
	req := &l2.SwInterfaceSetL2Bridge{
		RxSwIfIndex: interface_types.InterfaceIndex(m.SwIfIndex), BdID: id,
		Shg: m.SplitHorizonGroup, Enable: true,
	}
	if m.BVI {
		req.PortType = l2.L2_API_PORT_TYPE_BVI
	}
	if err := c.vpp.Call(ctx, req, &l2.SwInterfaceSetL2BridgeReply{}); err != nil {
		return err
	}
	known.change(func() {
		known.bd[m.SwIfIndex] = id
		delete(known.connected, m.SwIfIndex)
	})
	return nil
}

// checkFree asks VPP whether the interface is in another bridge domain, if it was known to be.
func (c *Calls) checkFree(ctx context.Context, known *attached, id, swIfIndex uint32) error {
	if !known.elsewhere(swIfIndex, id) {
		return nil
	}
	all, err := c.DumpBridgeDomains(ctx)
	if err != nil {
		return err
	}
	for _, bd := range all {
		for _, m := range bd.Members {
			if m.SwIfIndex == swIfIndex && bd.ID != id {
				return &BridgedError{Name: bd.Tag, ID: bd.ID}
			}
		}
	}
	return nil
}

// checkNotConnected asks VPP whether the interface is cross-connected, if it was known to be.
func (c *Calls) checkNotConnected(ctx context.Context, known *attached, swIfIndex uint32) error {
	if !known.crossConnected(swIfIndex) {
		return nil
	}
	all, err := c.DumpConnections(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.Rx == swIfIndex {
			return &CrossConnectedError{Tx: x.Tx}
		}
	}
	return nil
}

// RemoveMember takes an interface out of a bridge domain, unless it is in
// another one, or cross-connected, by now.
func (c *Calls) RemoveMember(ctx context.Context, id uint32, m Member) error {
	known, err := attachments.On(c.vpp)
	if err != nil {
		return err
	}
	if known.elsewhere(m.SwIfIndex, id) || known.crossConnected(m.SwIfIndex) {
		return nil
	}
	req := &l2.SwInterfaceSetL2Bridge{RxSwIfIndex: interface_types.InterfaceIndex(m.SwIfIndex), BdID: id}
	if m.BVI {
		req.PortType = l2.L2_API_PORT_TYPE_BVI
	}
	err = c.leave(ctx, m.SwIfIndex, m.Tagged, req, &l2.SwInterfaceSetL2BridgeReply{})
	if err != nil && !session.Gone(err) {
		return err
	}
	known.change(func() { delete(known.bd, m.SwIfIndex) })
	return nil
}
