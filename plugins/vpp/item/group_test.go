package item

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/memclnt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
)

// With AddFirst new parts are added before any is removed. They are removed again, and the old
// ones stay, when VPP refuses one of them.
func TestPartsAreAddedFirst(t *testing.T) {
	t.Parallel()
	sim, socket := vppsim.New(vppsim.Options{}), filepath.Join(t.TempDir(), "api.sock")
	if err := sim.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	conn, err := binapi.Dial(t.Context(), binapi.Options{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = sim.Close()
	})
	var h session.Holder
	h.Set(session.Session{Epoch: 1, Client: conn})
	errRefused := errors.New("refused")
	for refused, want := range map[string]string{
		"":   "+c +d -a",
		"+c": "+c +d -d",
		"+d": "+c +d -c",
		"-a": "+c +d -a -d -c",
	} {
		var calls []string
		what := map[api.Message]string{} // the request, by the message for the reply
		vpp := session.New(&h)
		d := &groups[*dns.DNSCache, string, string]{
			Group: Group[*dns.DNSCache, string, string]{
				AddFirst: true, ID: func(p string) string { return p }, PartName: func(p string) string { return "part " + p },
				Parts: func() (*PartCalls[string], error) {
					return &PartCalls[string]{
						Change: func(p string, add bool) (request, reply api.Message) {
							reply = &memclnt.ControlPingReply{}
							what[reply] = map[bool]string{true: "+", false: "-"}[add] + p
							calls = append(calls, what[reply])
							return &memclnt.ControlPing{}, reply
						},
						Answer: func(reply api.Message) error {
							if what[reply] == refused {
								return errRefused
							}
							return nil
						},
					}, nil
				},
			},
			resolver: translation[*dns.DNSCache, []string, string]{vpp: vpp, Resolution: Resolution[*dns.DNSCache, []string]{
				Resolve: func(_ *Resolver, v *dns.DNSCache) []string { return v.GetUpstreamDnsServers() },
			}},
			has: session.NewState(func() *owners[string] { return &owners[string]{of: map[string]string{}} }),
		}
		err := d.change(t.Context(), []value[*dns.DNSCache]{{
			Old: &dns.DNSCache{UpstreamDnsServers: []string{"a", "b"}}, New: &dns.DNSCache{UpstreamDnsServers: []string{"b", "c", "d"}},
		}})[0].Err
		if got := strings.Join(calls, " "); got != want {
			t.Errorf("%q refused: %s, expected %s", refused, got, want)
		}
		if (refused == "") != (err == nil) {
			t.Errorf("%q refused: error %v", refused, err)
		}
		if err != nil && (!errors.Is(err, errRefused) || !strings.Contains(err.Error(), "part "+refused[1:])) {
			t.Errorf("%q refused: error %v", refused, err)
		}
	}
}
