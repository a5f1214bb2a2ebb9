package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/vlib"

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
	// and continues after Delay milliseconds. Later VPPs need none of it.
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

// scanner is how neighbours are aged in one session.
type scanner interface {
	set(ctx context.Context, c *Calls, s NeighborScan) error
	ages(ctx context.Context, c *Calls) (ages NeighborAges, known bool, err error)
}

// pickScan takes the first of: the age per version of IP, that can be read back
// (VPP 23.10 and later); one that only the command line shows (20.01); the scan of
// all neighbours.
func pickScan(s session.Session) session.Op[scanner] {
	config, reply := (*ip_neighbor.IPNeighborConfig)(nil), (*ip_neighbor.IPNeighborConfigReply)(nil)
	return session.Pick(s, "ageing of neighbours",
		session.Variant[scanner](readAges{askNeighborLimits}, config, reply,
			(*ip_neighbor.IPNeighborConfigGet)(nil), (*ip_neighbor.IPNeighborConfigGetReply)(nil)),
		session.Variant[scanner](readAges{showNeighborLimits}, config, reply, (*vlib.CliInband)(nil), (*vlib.CliInbandReply)(nil)),
		session.Variant[scanner](&rememberedAges{}, (*scanEnableDisable)(nil), (*scanEnableDisableReply)(nil)),
	)
}

// SetNeighborScan changes which neighbours are forgotten. How many neighbours
// there may be stays what it is.
func (c *Calls) SetNeighborScan(ctx context.Context, s NeighborScan) error {
	do, err := session.Do(c.vpp, c.ops, func(o ops) session.Op[scanner] { return o.scan })
	if err != nil {
		return err
	}
	return do.set(ctx, c, s)
}

// NeighborAges returns the ages; known is false if VPP does not tell and none
// were set in this session.
func (c *Calls) NeighborAges(ctx context.Context) (ages NeighborAges, known bool, err error) {
	do, err := session.Do(c.vpp, c.ops, func(o ops) session.Op[scanner] { return o.scan })
	switch {
	case errors.Is(err, binding.ErrUnsupported):
		return ages, false, nil
	case err != nil:
		return ages, false, err
	}
	return do.ages(ctx, c)
}

// neighborLimits are how many neighbours of a version of IP there may be, after how
// many seconds they are forgotten, and whether the oldest makes room for a new one.
type neighborLimits struct {
	number, age uint32
	recycle     bool
}

// readAges are those of a VPP whose limits, for IPv4 and IPv6, can be read.
type readAges struct {
	limits func(ctx context.Context, c *Calls) ([2]neighborLimits, error)
}

func (r readAges) set(ctx context.Context, c *Calls, s NeighborScan) error {
	now, err := r.limits(ctx, c)
	if err != nil {
		return err
	}
	for which, age := range s.Ages() {
		now[which].age = age
		if err := c.setNeighborLimits(ctx, which, now[which]); err != nil {
			return err
		}
	}
	return nil
}

func (r readAges) ages(ctx context.Context, c *Calls) (ages NeighborAges, known bool, err error) {
	now, err := r.limits(ctx, c)
	for which := range ages {
		ages[which] = now[which].age
	}
	return ages, err == nil, err
}

func askNeighborLimits(ctx context.Context, c *Calls) (limits [2]neighborLimits, err error) {
	for which := range limits {
		reply := &ip_neighbor.IPNeighborConfigGetReply{}
		if err := c.vpp.Call(ctx, &ip_neighbor.IPNeighborConfigGet{Af: ipconv.Family(which == 1)}, reply); err != nil {
			return limits, err
		}
		limits[which] = neighborLimits{reply.MaxNumber, reply.MaxAge, reply.Recycle}
	}
	return limits, nil
}

// showNeighborLimits asks the command line, of VPP 20.01 to 23.06.
func showNeighborLimits(ctx context.Context, c *Calls) ([2]neighborLimits, error) {
	text, err := c.cli(ctx, "show ip neighbor-config")
	if err != nil {
		return [2]neighborLimits{}, err
	}
	return parseNeighborLimits(text)
}

// parseNeighborLimits reads what ip_neighbor_config_show prints
// (src/vnet/ip-neighbor/ip_neighbor.c).
func parseNeighborLimits(text string) (limits [2]neighborLimits, err error) {
	for which, format := range []string{"ip4: limit:%d, age:%d, recycle:%d", "ip6: limit:%d, age:%d, recycle:%d"} {
		l, recycle := &limits[which], 0
		_, after, _ := strings.Cut(text, format[:len("ip4:")])
		line := format[:len("ip4:")] + " " + strings.TrimSpace(after)
		if _, err := fmt.Sscanf(line, format, &l.number, &l.age, &recycle); err != nil {
			return limits, fmt.Errorf("limits of neighbours in %q: expected %q: %w", text, format, err)
		}
		l.recycle = recycle != 0
	}
	return limits, nil
}

func (c *Calls) setNeighborLimits(ctx context.Context, which int, l neighborLimits) error {
	err := c.vpp.Call(ctx, &ip_neighbor.IPNeighborConfig{
		Af: ipconv.Family(which == 1), MaxNumber: l.number, MaxAge: l.age, Recycle: l.recycle,
	}, &ip_neighbor.IPNeighborConfigReply{})
	if err != nil {
		return fmt.Errorf("IPv%d: %w", 4+2*which, err)
	}
	return nil
}

// rememberedAges are those of a VPP that does not tell.
type rememberedAges struct {
	mu    sync.Mutex
	last  NeighborAges
	known bool
}

func (r *rememberedAges) set(ctx context.Context, c *Calls, s NeighborScan) error {
	err := sendScan(ctx, c, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.known = s.Ages(), err == nil
	return err
}

func (r *rememberedAges) ages(context.Context, *Calls) (NeighborAges, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.known, nil
}

func sendScan(ctx context.Context, c *Calls, s NeighborScan) error {
	req := &scanEnableDisable{
		Interval: s.Interval, MaxProcTime: s.MaxProcTime, MaxUpdate: s.MaxUpdate, Delay: s.Delay, StaleThreshold: s.StaleThreshold,
	}
	if s.IPv4 {
		req.Mode |= scanIPv4
	}
	if s.IPv6 {
		req.Mode |= scanIPv6
	}
	return c.vpp.Call(ctx, req, &scanEnableDisableReply{})
}
