package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

var errRefused = errors.New("refused")

// recorder is a VPP that refuses the request number refuse, from 1.
type recorder struct {
	refuse int
	calls  []string
}

func (r *recorder) call(format string, args ...any) error {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	if len(r.calls) == r.refuse {
		return errRefused
	}
	return nil
}

func (r *recorder) AddARPRange(_ context.Context, a vppcalls.ARPRange) error {
	return r.call("+%s", a.First)
}
func (r *recorder) DeleteARPRange(_ context.Context, a vppcalls.ARPRange) error {
	return r.call("-%s", a.First)
}
func (*recorder) DumpARPRanges(context.Context) ([]vppcalls.ARPRange, error)    { return nil, nil }
func (*recorder) DumpProxyARP(context.Context) ([]uint32, error)                { return nil, nil }
func (*recorder) DumpDHCPProxies(context.Context) ([]vppcalls.DHCPProxy, error) { return nil, nil }

func (r *recorder) AddDHCPServer(_ context.Context, _ uint32, _ netip.Addr, s vppcalls.DHCPServer) error {
	return r.call("+%s", s.Addr)
}

func (r *recorder) DeleteDHCPServer(_ context.Context, _ uint32, _ netip.Addr, s vppcalls.DHCPServer) error {
	return r.call("-%s", s.Addr)
}

// TestChangeOfParts: what is new is added before anything goes, and goes again
// when VPP refuses the next one.
func TestChangeOfParts(t *testing.T) {
	t.Parallel()
	addrs := func(texts ...string) (out []netip.Addr) {
		for _, text := range texts {
			out = append(out, netip.MustParseAddr(text))
		}
		return out
	}
	old, wanted := addrs("10.0.0.1", "10.0.0.2"), addrs("10.0.0.2", "10.0.0.3", "10.0.0.4")
	for _, test := range []struct {
		refuse int
		want   string
	}{
		{0, "+10.0.0.3 +10.0.0.4 -10.0.0.1"},
		{1, "+10.0.0.3"},
		{2, "+10.0.0.3 +10.0.0.4 -10.0.0.3"},
		{3, "+10.0.0.3 +10.0.0.4 -10.0.0.1"},
	} {
		check := func(what string, vpp *recorder, err error) {
			t.Helper()
			if got := strings.Join(vpp.calls, " "); got != test.want {
				t.Errorf("%s, request %d refused: %s, expected %s", what, test.refuse, got, test.want)
			}
			if (test.refuse == 0) != (err == nil) || err != nil && !errors.Is(err, errRefused) {
				t.Errorf("%s, request %d refused: error %v", what, test.refuse, err)
			}
		}
		vpp := &recorder{refuse: test.refuse}
		asRanges := func(in []netip.Addr) (out []vppcalls.ARPRange) {
			for _, a := range in {
				out = append(out, vppcalls.ARPRange{First: a, Last: a})
			}
			return out
		}
		err := (&proxyARPDescriptor{vpp: vpp}).change(t.Context(), asRanges(old), asRanges(wanted))
		check("ranges", vpp, err)

		vpp = &recorder{refuse: test.refuse}
		asServers := func(in []netip.Addr) (out []vppcalls.DHCPServer) {
			for _, a := range in {
				out = append(out, vppcalls.DHCPServer{Addr: a})
			}
			return out
		}
		err = (&dhcpProxyDescriptor{vpp}).change(t.Context(), &l3.DHCPProxy{SourceIpAddress: "10.9.9.9"}, asServers(old), asServers(wanted))
		check("servers", vpp, err)
	}
	if got := missing(old, wanted); !slices.Equal(got, addrs("10.0.0.1")) {
		t.Errorf("missing %v", got)
	}
}
