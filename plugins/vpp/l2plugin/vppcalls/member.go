package vppcalls

import (
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
}

// places remembers which bridge domain each interface is in, as far as it was
// seen in the session: VPP tells it only for all bridge domains at once.
type places struct {
	mu sync.Mutex
	of map[uint32]uint32
}

func (p *places) get(swIfIndex uint32) (id uint32, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, ok = p.of[swIfIndex]
	return id, ok
}

func (p *places) set(swIfIndex, id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[swIfIndex] = id
}

func (p *places) unset(swIfIndex uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, swIfIndex)
}

// learn replaces everything by what VPP has.
func (p *places) learn(all []BridgeDomainDetails) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.of)
	for _, bd := range all {
		for _, m := range bd.Members {
			p.of[m.SwIfIndex] = bd.ID
		}
	}
}

func (c *Calls) places() (*places, error) {
	return session.Do(c.vpp, c.ops, func(o ops) session.Op[*places] { return o.places })
}

// AddMember puts an interface into a bridge domain. It is an error if the
// interface is in another one: VPP would take it out of there.
func (c *Calls) AddMember(id uint32, m Member) error {
	places, err := c.places()
	if err != nil {
		return err
	}
	if now, ok := places.get(m.SwIfIndex); ok && now != id {
		if err := c.checkFree(id, m.SwIfIndex); err != nil {
			return err
		}
	}
	req := &l2.SwInterfaceSetL2Bridge{
		RxSwIfIndex: interface_types.InterfaceIndex(m.SwIfIndex), BdID: id,
		Shg: m.SplitHorizonGroup, Enable: true,
	}
	if m.BVI {
		req.PortType = l2.L2_API_PORT_TYPE_BVI
	}
	if err := c.vpp.Call(req, &l2.SwInterfaceSetL2BridgeReply{}); err != nil {
		return err
	}
	places.set(m.SwIfIndex, id)
	return nil
}

// checkFree asks VPP whether the interface is in another bridge domain.
func (c *Calls) checkFree(id, swIfIndex uint32) error {
	all, err := c.DumpBridgeDomains()
	if err != nil {
		return err
	}
	for _, bd := range all {
		for _, m := range bd.Members {
			if m.SwIfIndex == swIfIndex && bd.ID != id {
				return fmt.Errorf("is in bridge domain %q (number %d) already", bd.Tag, bd.ID)
			}
		}
	}
	return nil
}

// RemoveMember takes an interface out of a bridge domain, unless it is in
// another one by now.
func (c *Calls) RemoveMember(id uint32, m Member) error {
	places, err := c.places()
	if err != nil {
		return err
	}
	if now, ok := places.get(m.SwIfIndex); ok && now != id {
		return nil
	}
	req := &l2.SwInterfaceSetL2Bridge{RxSwIfIndex: interface_types.InterfaceIndex(m.SwIfIndex), BdID: id}
	if m.BVI {
		req.PortType = l2.L2_API_PORT_TYPE_BVI
	}
	if err := c.vpp.Call(req, &l2.SwInterfaceSetL2BridgeReply{}); err != nil && !session.Gone(err) {
		return err
	}
	places.unset(m.SwIfIndex)
	return nil
}
