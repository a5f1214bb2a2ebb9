package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// IPScanNeighbor says which neighbours are forgotten when they are not heard of.
type IPScanNeighbor struct {
	// IPv4 and IPv6 neighbours.
	IPv4, IPv6 bool
	// StaleThreshold is how long a neighbour may be silent, in minutes.
	StaleThreshold uint8
}

// NeighborAges are the times, in seconds, after which neighbours that are not
// heard of are forgotten, for IPv4 and IPv6; 0 means never.
type NeighborAges [2]uint32

// Ages returns what the scan amounts to.
func (s IPScanNeighbor) Ages() (ages NeighborAges) {
	for which, on := range []bool{s.IPv4, s.IPv6} {
		if on {
			ages[which] = uint32(s.StaleThreshold) * 60
		}
	}
	return ages
}

// readLimits reads the limits for IPv4 and IPv6 by a message, or, before VPP 23.10, from the
// command line.
var readLimits = session.Declare("IP scan neighbor", "",
	session.Variant(askNeighborLimits, (*ip_neighbor.IPNeighborConfig)(nil), (*ip_neighbor.IPNeighborConfigReply)(nil),
		(*ip_neighbor.IPNeighborConfigGet)(nil), (*ip_neighbor.IPNeighborConfigGetReply)(nil)),
	session.Variant(showNeighborLimits, (*ip_neighbor.IPNeighborConfig)(nil), (*ip_neighbor.IPNeighborConfigReply)(nil),
		(*vlib.CliInband)(nil), (*vlib.CliInbandReply)(nil)),
)

// SetIPScanNeighbor changes which neighbours are forgotten. How many neighbours
// there may be stays what it is.
func (c *Calls) SetIPScanNeighbor(ctx context.Context, s IPScanNeighbor) error {
	read, err := readLimits.On(c.vpp)
	if err != nil {
		return err
	}
	now, err := read(ctx, c)
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

// NeighborAges returns the ages; known is false if VPP does not report.
func (c *Calls) NeighborAges(ctx context.Context) (ages NeighborAges, known bool, err error) {
	read, err := readLimits.On(c.vpp)
	switch {
	case errors.Is(err, binding.ErrUnsupported):
		return ages, false, nil
	case err != nil:
		return ages, false, err
	}
	now, err := read(ctx, c)
	for which := range ages {
		ages[which] = now[which].age
	}
	return ages, err == nil, err
}

// neighborLimits are how many neighbours of a version of IP there may be, after how
// many seconds they are forgotten, and whether the oldest makes room for a new one.
type neighborLimits struct {
	number, age uint32
	recycle     bool
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

// showNeighborLimits asks the command line.
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
