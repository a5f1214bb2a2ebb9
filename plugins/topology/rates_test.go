package topology

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
)

// counting receives 1 bit per second at each interface of VPP, and 100 at each of Linux, but none at those
// whose name ends in 0, which it does not know. It records for how many interfaces it is asked.
type counting struct{ vpp, linux int }

func (c *counting) of(names []string, bits float64) rates.Rates {
	r := rates.Rates{Up: true, Seconds: 2}
	for _, name := range names {
		if !strings.HasSuffix(name, "0") {
			r.Interfaces = append(r.Interfaces, rates.Interface{Name: name, RxBits: bits})
		}
	}
	return r
}

func (c *counting) Rates(names []string) rates.Rates {
	c.vpp = len(names)
	return c.of(names, 1)
}

type countingLinux struct{ *counting }

func (c countingLinux) Rates(_ context.Context, names []string) rates.Rates {
	c.linux = len(names)
	return c.of(names, 100)
}

type simulatedLinux struct{}

func (simulatedLinux) SimulatesVPP() bool   { return false }
func (simulatedLinux) SimulatesLinux() bool { return true }

// TestRatesOfGroups checks that a group has the sum of the rates of its interfaces, in every size of the picture,
// and that counters are not read where they are simulated.
func TestRatesOfGroups(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 60, 20, 5} {
		n, err := choose(large(10), selection{limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		c := &counting{}
		p := &Plugin{Deps: Deps{VPPRates: c, LinuxRates: countingLinux{c}}}
		got := p.ratesOf(t.Context(), n)
		var sum float64
		for _, r := range got.Nodes {
			if !slices.ContainsFunc(n.Nodes, func(node response.Node) bool { return node.ID == r.Name }) {
				t.Errorf("limit %d: rates of %s, which is no node", limit, r.Name)
			}
			sum += r.RxBits
		}
		if want := 180.0*1 + 180*100; sum != want || c.vpp != 200 || c.linux != 200 || !got.VPP.Up || got.Linux.Seconds != 2 {
			t.Errorf("limit %d: %v bits per second of %d and %d interfaces, expected %v of 200 and 200; %+v %+v", limit, sum, c.vpp, c.linux, want, got.VPP, got.Linux)
		}
	}
	c := &counting{}
	p := &Plugin{Deps: Deps{VPPRates: c, LinuxRates: countingLinux{c}, Simulation: simulatedLinux{}}}
	if got := p.ratesOf(t.Context(), large(1)); got.Linux != nil || c.linux != 0 || len(got.Nodes) != 18 {
		t.Errorf("with a simulated Linux: %+v, %d interfaces were asked for", got, c.linux)
	}
	hubs := part(large(1), func(n response.Node) bool { return n.Kind == response.BridgeDomain })
	if got := p.ratesOf(t.Context(), hubs); got.VPP != nil || len(got.Nodes) != 0 {
		t.Errorf("without an interface: %+v", got)
	}
}
