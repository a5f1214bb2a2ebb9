package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// maxID is the largest number of a bridge domain.
const maxID = 1<<24 - 1

// BridgeDomain are the parameters of a bridge domain. They have no number.
type BridgeDomain = l2.BridgeDomainAddDelV2

// paramsOf returns the parameters that VPP lists.
func paramsOf(d *l2.BridgeDomainDetails) BridgeDomain {
	return BridgeDomain{
		BdTag: d.BdTag, Flood: d.Flood, UuFlood: d.UuFlood, Forward: d.Forward, Learn: d.Learn, ArpTerm: d.ArpTerm, MacAge: d.MacAge,
	}
}

// idPool gives out the lowest free number, as far as it is known.
type idPool struct {
	mu    sync.Mutex
	known bool
	taken map[uint32]bool
	next  uint32 // all smaller numbers are taken
}

// take returns a free number, or the number of the bridge domain with the tag
// if there is one already; list reports those in VPP if they are not known.
func (p *idPool) take(ctx context.Context, tag string, list func(context.Context) ([]*l2.BridgeDomainDetails, error)) (id uint32, existing *l2.BridgeDomainDetails, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		all, err := list(ctx)
		if err != nil {
			return 0, nil, err
		}
		p.known, p.next, p.taken = true, 1, make(map[uint32]bool, len(all))
		for _, bd := range all {
			p.taken[bd.BdID] = true
			if bd.BdTag == tag {
				existing = bd
			}
		}
	}
	if existing != nil {
		return existing.BdID, existing, nil
	}
	for id := p.next; id <= maxID; id++ {
		if !p.taken[id] {
			p.taken[id], p.next = true, id+1
			return id, nil, nil
		}
	}
	return 0, nil, errors.New("all numbers of bridge domains are in use")
}

func (p *idPool) release(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, id)
	p.next = min(p.next, id)
}

// forget makes the pool ask VPP again.
func (p *idPool) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = false
}

// addDelBridgeDomain has the variants of a request, which differ in their names.
var addDelBridgeDomain = session.Declare("bridge domain", "",
	session.Variant(func(req *BridgeDomain) (request, reply api.Message) {
		return req, &l2.BridgeDomainAddDelV2Reply{}
	}, (*l2.BridgeDomainAddDelV2)(nil), (*l2.BridgeDomainAddDelV2Reply)(nil)),
	session.Variant(func(req *BridgeDomain) (request, reply api.Message) {
		return (*l2.BridgeDomainAddDel)(req), &l2.BridgeDomainAddDelReply{}
	}, (*l2.BridgeDomainAddDel)(nil), (*l2.BridgeDomainAddDelReply)(nil)),
)

func (c *Calls) addDel(ctx context.Context, id uint32, bd BridgeDomain, add bool) error {
	variant, err := addDelBridgeDomain.On(c.vpp)
	if err != nil {
		return err
	}
	bd.BdID, bd.IsAdd = id, add
	req, reply := variant(&bd)
	return c.vpp.Call(ctx, req, reply)
}

var ids = session.NewState(func() *idPool { return &idPool{} })

// attempts bounds how often a number is tried that another process has taken.
const attempts = 8

// CreateBridgeDomain creates a bridge domain with the lowest free number; VPP
// itself would choose a random one. If an earlier attempt ended without a
// reply, the bridge domain that it may have left is taken over.
func (c *Calls) CreateBridgeDomain(ctx context.Context, bd BridgeDomain) (id uint32, err error) {
	pool, err := ids.On(c.vpp)
	if err != nil {
		return 0, err
	}
	for range attempts {
		id, existing, err := pool.take(ctx, bd.BdTag, c.DumpBridgeDomains)
		if err != nil {
			return 0, err
		}
		if existing != nil {
			return id, c.UpdateBridgeDomain(ctx, id, paramsOf(existing), bd)
		}
		if err = c.addDel(ctx, id, bd, true); err == nil {
			return id, nil
		}
		pool.forget()
		if !errors.Is(err, api.BD_ALREADY_EXISTS) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("numbers of bridge domains are taken faster than they are found free: %w", api.BD_ALREADY_EXISTS)
}

// DeleteBridgeDomain deletes a bridge domain. If it does not exist, that is a
// success; VPP refuses while it has members.
func (c *Calls) DeleteBridgeDomain(ctx context.Context, id uint32) error {
	if err := c.addDel(ctx, id, BridgeDomain{}, false); err != nil && !session.Gone(err, api.NO_SUCH_ENTRY) {
		return err
	}
	if pool, err := ids.On(c.vpp); err == nil {
		pool.release(id)
	}
	return nil
}

func flagsOf(bd BridgeDomain) l2.BdFlags {
	return session.Flags(map[l2.BdFlags]bool{
		l2.BRIDGE_API_FLAG_FLOOD: bd.Flood, l2.BRIDGE_API_FLAG_UU_FLOOD: bd.UuFlood,
		l2.BRIDGE_API_FLAG_FWD: bd.Forward, l2.BRIDGE_API_FLAG_LEARN: bd.Learn,
		l2.BRIDGE_API_FLAG_ARP_TERM: bd.ArpTerm,
	})
}

// UpdateBridgeDomain changes the parameters in place. The tag cannot change.
func (c *Calls) UpdateBridgeDomain(ctx context.Context, id uint32, old, bd BridgeDomain) error {
	if on := flagsOf(bd) &^ flagsOf(old); on != 0 {
		if err := c.setFlags(ctx, id, on, true); err != nil {
			return err
		}
	}
	if off := flagsOf(old) &^ flagsOf(bd); off != 0 {
		if err := c.setFlags(ctx, id, off, false); err != nil {
			return err
		}
	}
	if old.MacAge == bd.MacAge {
		return nil
	}
	return c.vpp.Call(ctx, &l2.BridgeDomainSetMacAge{BdID: id, MacAge: bd.MacAge}, &l2.BridgeDomainSetMacAgeReply{})
}

func (c *Calls) setFlags(ctx context.Context, id uint32, flags l2.BdFlags, on bool) error {
	return c.vpp.Call(ctx, &l2.BridgeFlags{BdID: id, IsSet: on, Flags: flags}, &l2.BridgeFlagsReply{})
}

// DumpBridgeDomains returns all bridge domains with their members.
func (c *Calls) DumpBridgeDomains(ctx context.Context) ([]*l2.BridgeDomainDetails, error) {
	found, err := session.Dump[*l2.BridgeDomainDetails](ctx, c.vpp, &l2.BridgeDomainDump{
		BdID: none, SwIfIndex: ifIndex(none),
	})
	if err != nil {
		return nil, err
	}
	places := map[ifIndex]place{}
	for _, d := range found {
		for _, m := range d.SwIfDetails {
			places[m.SwIfIndex] = place{to: d.BdID}
		}
	}
	c.learn(false, places)
	return found, nil
}

// ARPAnswer is what a bridge domain answers to an ARP request. It has no number.
type ARPAnswer = l2.BdIPMac

// SetARPAnswer adds or removes an answer of a bridge domain.
func (c *Calls) SetARPAnswer(ctx context.Context, id uint32, a ARPAnswer, add bool) error {
	a.BdID = id
	err := c.vpp.Call(ctx, &l2.BdIPMacAddDel{IsAdd: add, Entry: a}, &l2.BdIPMacAddDelReply{})
	if err == nil || !add && session.Gone(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return fmt.Errorf("answer for %s: %w", ipconv.FromAddress(a.IP), err)
}

// DumpARPAnswers returns the answers of all bridge domains, by their numbers.
func (c *Calls) DumpARPAnswers(ctx context.Context) (map[uint32][]ARPAnswer, error) {
	found, err := session.Dump[*l2.BdIPMacDetails](ctx, c.vpp, &l2.BdIPMacDump{BdID: none})
	out := map[uint32][]ARPAnswer{}
	for _, d := range found {
		out[d.Entry.BdID] = append(out[d.Entry.BdID], d.Entry)
	}
	return out, err
}
