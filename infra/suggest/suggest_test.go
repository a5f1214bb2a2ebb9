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
		"nmae": "name", "nam": "name", "mut": "mtu", "": "", "something": "", "xyu": "", "vxu": "", "mu": "",
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

// Letters that were exchanged are nearer than letters of another word, and a word that is too different
// is not suggested. A word may be a part of the only one that it can mean.
func TestNearestEnumValue(t *testing.T) {
	t.Parallel()
	protocols := []string{"TCP", "UDP", "ICMP", "OTHER"}
	types := []string{"UNDEFINED_TYPE", "SUB_INTERFACE", "SOFTWARE_LOOPBACK", "MEMIF", "GRE_TUNNEL", "IPIP_TUNNEL", "TAP"}
	for word, want := range map[string]string{"ICPM": "ICMP", "tcp": "TCP", "UPD": "UDP", "SCTP": "", "ESP": "", "GRE": ""} {
		if got := suggest.Nearest(word, protocols); got != want {
			t.Errorf("Nearest(%q) = %q, expected %q", word, got, want)
		}
	}
	for word, want := range map[string]string{"LOOPBACK": "SOFTWARE_LOOPBACK", "loopback": "SOFTWARE_LOOPBACK", "TUNNEL": "", "VETH": "", "interface": "SUB_INTERFACE"} {
		if got := suggest.Nearest(word, types); got != want {
			t.Errorf("Nearest(%q) = %q, expected %q", word, got, want)
		}
	}
}

func TestWithPart(t *testing.T) {
	t.Parallel()
	known := []string{"vpp.interfaces", "linux.interfaces.interface", "vpp.acls.acl", "vpp.nat.nat44-pool", "vpp.nat.nat44-global", "vpp.policer.interface"}
	for word, want := range map[string]string{
		"interfaces": "vpp.interfaces linux.interfaces.interface vpp.policer.interface", "acl": "vpp.acls.acl", "nat44": "vpp.nat.nat44-pool vpp.nat.nat44-global",
		"nat44-pool": "vpp.nat.nat44-pool", "interfaces.interface": "linux.interfaces.interface", "ac": "", "": "", "nat4": "",
	} {
		if got := strings.Join(suggest.WithPart(word, known), " "); got != want {
			t.Errorf("WithPart(%q) = %q, expected %q", word, got, want)
		}
	}
}

func TestWithElement(t *testing.T) {
	t.Parallel()
	known := []string{"linux.interfaces.interface", "vpp.lldp.interface", "vpp.interfaces", "vpp.acls.acl", "vpp.nat.nat44-pool"}
	for word, want := range map[string]string{
		"interfaces": "vpp.interfaces linux.interfaces.interface vpp.lldp.interface", "acl": "vpp.acls.acl", "ACLs": "vpp.acls.acl",
		"interface": "vpp.lldp.interface linux.interfaces.interface vpp.interfaces", "nat44": "", "": "",
	} {
		if got := strings.Join(suggest.WithElement(word, known), " "); got != want {
			t.Errorf("WithElement(%q) = %q, expected %q", word, got, want)
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
		{long, long + "y", 0}, {long, "", 100}, {"icpm", "icmp", 1}, {"ba", "abc", 2},
	} {
		if got := suggest.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%.10q, %.10q) = %d, expected %d", c.a, c.b, got, c.want)
		}
	}
}
