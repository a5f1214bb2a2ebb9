package quickstart

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// checkFlap sets the far end of blue's cable down and up, as a user in the
// namespace would. The interface of VPP at the near end loses its carrier, and must
// be the same one afterwards.
func (s *setup) checkFlap(t *testing.T, p *process) {
	t.Helper()
	before := p.indexOf(t, "blue")
	for _, change := range []string{"down", "up"} {
		ip(t, "-n", s.prefix+"blue", "link", "set", "blue0", change)
		// The flap lasts longer than the agent waits before it believes one.
		for n, begin := 0, time.Now(); n < 2 || time.Since(begin) < 50*time.Millisecond; n++ {
			name := fmt.Sprintf("%sm%s%d", s.prefix, change[:1], n)
			ip(t, "link", "add", name, "up", "type", "veth", "peer", "name", name+"p")
			p.await(t, map[string]string{"linux/interface/host-name/" + name: "OBTAINED"})
			ip(t, "link", "del", name)
		}
	}
	if after := p.indexOf(t, "blue"); after != before {
		t.Errorf("the interface of VPP had index %d and has %d after its peer was down and up", before, after)
	}
	p.awaitAllConfigured(t, items)
}

// indexOf returns the index in VPP of an interface of the configuration.
func (p *process) indexOf(t *testing.T, name string) int {
	t.Helper()
	text, err := p.get(http.MethodGet, "/dump/vpp/v2/interfaces", "")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Interface struct{ Name string }
		Meta      struct {
			Index int `json:"sw_if_index"`
		} `json:"interface_meta"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Interface.Name == name {
			return i.Meta.Index
		}
	}
	t.Fatalf("VPP has no interface %s: %s", name, text)
	return 0
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// checkLost deletes a cable, as another process would. The agent creates it again, and
// what stood on it.
func (s *setup) checkLost(t *testing.T, p *process) {
	t.Helper()
	name := s.prefix + "vpp-red"
	before, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	ip(t, "link", "del", name)
	poll(t, "the cable is created again", func() (bool, string) {
		now, err := net.InterfaceByName(name)
		return err == nil && now.Index != before.Index, fmt.Sprint(err)
	})
	p.awaitAllConfigured(t, items)
}
