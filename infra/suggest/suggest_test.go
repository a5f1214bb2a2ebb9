package suggest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"hostIfName", "name", "enabled", "ip_addresses", "mtu"}
	for word, want := range map[string]string{
		"hostIfNam": "hostIfName", "host_if_name": "hostIfName", "Enabled": "enabled", "ipAddresses": "ip_addresses",
		"nmae": "name", "nam": "name", "mut": "mtu", "": "", "something": "",
	} {
		if got := suggest.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, expected %q", word, got, want)
		}
	}
}

func TestByParts(t *testing.T) {
	t.Parallel()
	known := []string{"vpp.interfaces", "vpp.acls.acl", "vpp.arp", "vpp.nat.dnat44", "vpp.nat.nat44-pool", "vpp.nat.nat44-global", "vpp.wg.peer"}
	for name, want := range map[string]string{
		"vpp.acls": "vpp.acls.acl", "vpp.nat.nat44-dnat": "vpp.nat.dnat44", "vpp.interfaces.wireguard": "vpp.interfaces",
		"vpp.interface": "vpp.interfaces", "vpp.peer": "vpp.wg.peer", "vpp.wg.paar": "vpp.wg.peer", "abc.xyz": "", "": "",
	} {
		if got := suggest.ByParts(name, known); got != want {
			t.Errorf("ByParts(%q) = %q, expected %q", name, got, want)
		}
	}
}

// A word may be the beginning of the only one that it can mean.
func TestNearestByPrefix(t *testing.T) {
	t.Parallel()
	known := []string{"vppConfig", "linuxConfig", "WIREGUARD_TUNNEL", "GRE_TUNNEL", "GTPU_TUNNEL"}
	for word, want := range map[string]string{"vpp": "vppConfig", "WIREGUARD": "WIREGUARD_TUNNEL", "gre": "GRE_TUNNEL", "G": ""} {
		if got := suggest.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, expected %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"same", "same", 0},
		{long, long + "y", 0}, {long, "", 100},
	} {
		if got := suggest.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%.10q, %.10q) = %d, expected %d", c.a, c.b, got, c.want)
		}
	}
}
