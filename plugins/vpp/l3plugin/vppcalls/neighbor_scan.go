package vppcalls

import (
	"errors"
	"fmt"
	"sync"

	"go.fd.io/govpp/binapi/ip_neighbor"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// NeighborScan says which neighbours are forgotten when they are not heard of.
type NeighborScan struct {
	// IPv4 and IPv6 neighbours.
	IPv4, IPv6 bool
	// StaleThreshold is how long a neighbour may be silent, in minutes.
	StaleThreshold uint8
	// VPP before 20.01 looks at all neighbours every Interval minutes; in one go
	// it takes at most MaxProcTime microseconds and handles MaxUpdate neighbours,
	// and goes on after Delay milliseconds. Later VPPs need none of it.
	Interval, MaxProcTime, MaxUpdate, Delay uint8
}

// NeighborAges are the times, in seconds, after which neighbours that are not
// heard of are forgotten, for IPv4 and IPv6; 0 means never.
type NeighborAges [2]uint32

// Ages returns what the scan amounts to.
func (s NeighborScan) Ages() (ages NeighborAges) {
	for which, on := range []bool{s.IPv4, s.IPv6} {
		if on {
			ages[which] = uint32(s.StaleThreshold) * 60
		}
	}
	return ages
}

// defaultMaxNeighbors is how many neighbours of a version of IP there may be in
// VPP, unless it is told otherwise (src/vnet/ip-neighbor/ip_neighbor.c).
const defaultMaxNeighbors = 50000

// scanner is how neighbours are aged in one session.
type scanner interface {
	set(c *Calls, s NeighborScan) error
	ages(c *Calls) (ages NeighborAges, known bool, err error)
}

// pickScan takes the first of: the age per version of IP, that can be read back
// (VPP 23.10 and later); one that cannot (20.01); the scan of all neighbours.
func pickScan(s session.Session) session.Op[scanner] {
	config, reply := (*ip_neighbor.IPNeighborConfig)(nil), (*ip_neighbor.IPNeighborConfigReply)(nil)
	return session.Pick(s, "ageing of neighbours",
		session.Variant[scanner](askedAges{}, config, reply,
			(*ip_neighbor.IPNeighborConfigGet)(nil), (*ip_neighbor.IPNeighborConfigGetReply)(nil)),
		session.Variant[scanner](&rememberedAges{send: sendDefaultConfigs}, config, reply),
		session.Variant[scanner](&rememberedAges{send: sendScan}, (*scanEnableDisable)(nil), (*scanEnableDisableReply)(nil)),
	)
}

// SetNeighborScan changes which neighbours are forgotten. How many neighbours
// there may be stays what it is, if VPP tells, and the default otherwise.
func (c *Calls) SetNeighborScan(s NeighborScan) error {
	do, err := session.Do(c.vpp, c.ops, func(o ops) session.Op[scanner] { return o.scan })
	if err != nil {
		return err
	}
	return do.set(c, s)
}

// NeighborAges returns the ages; known is false if VPP does not tell and none
// were set in this session.
func (c *Calls) NeighborAges() (ages NeighborAges, known bool, err error) {
	do, err := session.Do(c.vpp, c.ops, func(o ops) session.Op[scanner] { return o.scan })
	switch {
	case errors.Is(err, binding.ErrUnsupported):
		return ages, false, nil
	case err != nil:
		return ages, false, err
	}
	return do.ages(c)
}

// askedAges asks VPP.
type askedAges struct{}

func (askedAges) set(c *Calls, s NeighborScan) error {
	for which, age := range s.Ages() {
		now, err := c.neighborConfig(which)
		if err != nil {
			return err
		}
		if err := c.setNeighborConfig(which, now.MaxNumber, age, now.Recycle); err != nil {
			return err
		}
	}
	return nil
}

func (askedAges) ages(c *Calls) (ages NeighborAges, known bool, err error) {
	for which := range ages {
		now, err := c.neighborConfig(which)
		if err != nil {
			return ages, false, err
		}
		ages[which] = now.MaxAge
	}
	return ages, true, nil
}

func (c *Calls) neighborConfig(which int) (*ip_neighbor.IPNeighborConfigGetReply, error) {
	reply := &ip_neighbor.IPNeighborConfigGetReply{}
	return reply, c.vpp.Call(&ip_neighbor.IPNeighborConfigGet{Af: ipconv.Family(which == 1)}, reply)
}

func (c *Calls) setNeighborConfig(which int, limit, age uint32, recycle bool) error {
	err := c.vpp.Call(&ip_neighbor.IPNeighborConfig{
		Af: ipconv.Family(which == 1), MaxNumber: limit, MaxAge: age, Recycle: recycle,
	}, &ip_neighbor.IPNeighborConfigReply{})
	if err != nil {
		return fmt.Errorf("IPv%d: %w", 4+2*which, err)
	}
	return nil
}

// rememberedAges are those of a VPP that does not tell.
type rememberedAges struct {
	send func(c *Calls, s NeighborScan) error

	mu    sync.Mutex
	last  NeighborAges
	known bool
}

func (r *rememberedAges) set(c *Calls, s NeighborScan) error {
	err := r.send(c, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.known = s.Ages(), err == nil
	return err
}

func (r *rememberedAges) ages(*Calls) (NeighborAges, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.known, nil
}

func sendDefaultConfigs(c *Calls, s NeighborScan) error {
	for which, age := range s.Ages() {
		if err := c.setNeighborConfig(which, defaultMaxNeighbors, age, false); err != nil {
			return err
		}
	}
	return nil
}

func sendScan(c *Calls, s NeighborScan) error {
	req := &scanEnableDisable{
		Interval: s.Interval, MaxProcTime: s.MaxProcTime, MaxUpdate: s.MaxUpdate, Delay: s.Delay, StaleThreshold: s.StaleThreshold,
	}
	if s.IPv4 {
		req.Mode |= scanIPv4
	}
	if s.IPv6 {
		req.Mode |= scanIPv6
	}
	return c.vpp.Call(req, &scanEnableDisableReply{})
}
