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

// NeighborAges are the times, in seconds, after which neighbours that are not
// heard of are forgotten, for IPv4 and IPv6; 0 means never.
type NeighborAges [2]uint32

// defaultMaxNeighbors is how many neighbours of a version of IP there may be in
// VPP, unless it is told otherwise (src/vnet/ip-neighbor/ip_neighbor.c).
const defaultMaxNeighbors = 50000

// scanner is how neighbours are aged in one session.
type scanner struct {
	// rest reads what else is configured for a version of IP.
	rest func(c *Calls, ipv6 bool) (*ip_neighbor.IPNeighborConfigGetReply, error)
	set  *agesSet // nil if VPP can be asked
}

// agesSet remembers what was set, for a VPP that does not tell.
type agesSet struct {
	mu   sync.Mutex
	ages NeighborAges
	any  bool
}

func (a *agesSet) store(which int, age uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ages[which], a.any = age, true
}

func (a *agesSet) load() (NeighborAges, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ages, a.any
}

// pickScan prefers a VPP that can be asked (23.10 and later).
func pickScan(s session.Session) session.Op[scanner] {
	config, reply := (*ip_neighbor.IPNeighborConfig)(nil), (*ip_neighbor.IPNeighborConfigReply)(nil)
	return session.Pick(s, "ageing of neighbours",
		session.Variant(scanner{rest: (*Calls).neighborConfig}, config, reply,
			(*ip_neighbor.IPNeighborConfigGet)(nil), (*ip_neighbor.IPNeighborConfigGetReply)(nil)),
		session.Variant(scanner{rest: defaultNeighborConfig, set: &agesSet{}}, config, reply),
	)
}

func (c *Calls) neighborConfig(ipv6 bool) (*ip_neighbor.IPNeighborConfigGetReply, error) {
	reply := &ip_neighbor.IPNeighborConfigGetReply{}
	return reply, c.vpp.Call(&ip_neighbor.IPNeighborConfigGet{Af: ipconv.Family(ipv6)}, reply)
}

func defaultNeighborConfig(*Calls, bool) (*ip_neighbor.IPNeighborConfigGetReply, error) {
	return &ip_neighbor.IPNeighborConfigGetReply{MaxNumber: defaultMaxNeighbors}, nil
}

func (c *Calls) scanner() (scanner, error) {
	return session.Do(c.vpp, c.ops, func(o ops) session.Op[scanner] { return o.scan })
}

// SetNeighborAges changes the ages. The number of neighbours stays what it is,
// if VPP tells, and the default otherwise.
func (c *Calls) SetNeighborAges(ages NeighborAges) error {
	s, err := c.scanner()
	if err != nil {
		return err
	}
	for which, ipv6 := range []bool{false, true} {
		rest, err := s.rest(c, ipv6)
		if err != nil {
			return err
		}
		err = c.vpp.Call(&ip_neighbor.IPNeighborConfig{
			Af: ipconv.Family(ipv6), MaxNumber: rest.MaxNumber, Recycle: rest.Recycle, MaxAge: ages[which],
		}, &ip_neighbor.IPNeighborConfigReply{})
		if err != nil {
			return fmt.Errorf("IPv%d: %w", 4+2*which, err)
		}
		if s.set != nil {
			s.set.store(which, ages[which])
		}
	}
	return nil
}

// NeighborAges returns the ages; known is false if VPP does not tell and none
// were set in this session.
func (c *Calls) NeighborAges() (ages NeighborAges, known bool, err error) {
	s, err := c.scanner()
	switch {
	case errors.Is(err, binding.ErrUnsupported):
		return ages, false, nil
	case err != nil:
		return ages, false, err
	case s.set != nil:
		ages, known = s.set.load()
		return ages, known, nil
	}
	for which, ipv6 := range []bool{false, true} {
		found, err := s.rest(c, ipv6)
		if err != nil {
			return ages, false, err
		}
		ages[which] = found.MaxAge
	}
	return ages, true, nil
}
