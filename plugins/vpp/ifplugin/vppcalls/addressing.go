package vppcalls

import (
	"context"
	"net/netip"

	"go.fd.io/govpp/binapi/ip"
	"golang.org/x/sync/errgroup"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Addressing is what VPP reports about the addresses of an interface.
type Addressing struct {
	// Addresses has addresses of both versions of IP, IPv4 first, without IPv6
	// link-local ones.
	Addresses []netip.Prefix
	// Vrf is the VRF table for a version of IP (true: IPv6), as far as it follows or
	// was asked for.
	Vrf map[bool]uint32
}

// inFlight is how many interfaces VPP is asked about at a time.
const inFlight = 64

// DumpAddressing returns what VPP reports about the addresses of interfaces, by their
// indexes. All releases (22.10 to 26.06) report it of one interface and one version
// of IP at a time: ip_address_dump refuses the index that stands for all, there is no
// dump of tables by interface, and of interfaces that are down nothing is in the FIB.
// So many requests are on their way at a time, and the table is asked for only where
// there are addresses, and tables other than 0.
func (c *Calls) DumpAddressing(ctx context.Context, indexes []uint32) (map[uint32]Addressing, error) {
	others, err := c.otherTables(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]Addressing, len(indexes))
	asking, failed := errgroup.WithContext(ctx)
	asking.SetLimit(inFlight)
	for i, swIfIndex := range indexes {
		asking.Go(func() (err error) {
			if err := failed.Err(); err != nil {
				return err
			}
			found[i], err = c.addressing(ctx, swIfIndex, others)
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	out := make(map[uint32]Addressing, len(indexes))
	for i, swIfIndex := range indexes {
		out[swIfIndex] = found[i]
	}
	return out, nil
}

func (c *Calls) addressing(ctx context.Context, swIfIndex uint32, others map[bool]bool) (Addressing, error) {
	a := Addressing{Vrf: map[bool]uint32{}}
	for _, ipv6 := range []bool{false, true} {
		found, err := c.DumpAddresses(ctx, swIfIndex, ipv6)
		if err != nil {
			return a, err
		}
		a.Addresses = append(a.Addresses, found...)
		switch {
		case !others[ipv6]:
			a.Vrf[ipv6] = 0
		case len(found) > 0:
			if a.Vrf[ipv6], err = c.Table(ctx, swIfIndex, ipv6); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// otherTables reports whether VPP has tables other than 0, by version of IP.
func (c *Calls) otherTables(ctx context.Context) (map[bool]bool, error) {
	found, err := session.Dump[*ip.IPTableDetails](ctx, c.vpp, &ip.IPTableDump{})
	others := map[bool]bool{}
	for _, d := range found {
		others[d.Table.IsIP6] = others[d.Table.IsIP6] || d.Table.TableID != 0
	}
	return others, err
}
