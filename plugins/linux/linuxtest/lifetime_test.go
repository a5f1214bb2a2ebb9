package linuxtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
)

const configured = kvscheduler.ValueState_CONFIGURED

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// catalogue returns the items of a file in testdata.
func catalogue(t *testing.T, file string) []proto.Message {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	must(t, err)
	c := &linux.ConfigData{}
	must(t, protojson.Unmarshal(text, c))
	return allOf(c)
}

// allOf returns the items of a configuration.
func allOf(c *linux.ConfigData) []proto.Message {
	return slices.Concat(messages(c.GetInterfaces()), messages(c.GetNexthops()), messages(c.GetRoutes()), messages(c.GetRules()), messages(c.GetArpEntries()),
		messages(c.GetIptablesRulechains()), messages(c.GetNftablesTables()), messages(c.GetPuntProxies()))
}

func messages[T proto.Message](all []T) (out []proto.Message) {
	for _, m := range all {
		out = append(out, m)
	}
	return out
}

// supported returns the items of the catalogue that the kernel can have, and what they become
// when the changes are applied.
func supported(t *testing.T, newWorld func(testing.TB) *nltest.World) (items, changed []proto.Message) {
	t.Helper()
	items = catalogue(t, "catalogue.json")
	t.Run("supported", func(t *testing.T) {
		w := newWorld(t)
		makeForeign(t, w)
		a := linuxtest.Start(t, w)
		_ = a.Apply(items...) // those that are unsupported fail
		a.Quiet("existing interfaces are found", func() bool { return a.State(linuxtest.Key(t, items[0])).GetState() == configured })
		items = slices.DeleteFunc(items, func(v proto.Message) bool {
			key := linuxtest.Key(t, v)
			switch status := a.State(key); status.GetState() {
			case configured:
				return false
			case kvscheduler.ValueState_UNIMPLEMENTED:
				t.Logf("NOT TESTED, because this kernel lacks it: %s: %s", key, status.GetError())
			case kvscheduler.ValueState_PENDING:
				t.Logf("NOT TESTED, because this kernel lacks what it needs: %s", key)
			default:
				t.Errorf("%s is %s: %s", key, status.GetState(), status.GetError())
			}
			return true
		})
		if w.Sim != nil && len(items) != len(catalogue(t, "catalogue.json")) {
			t.Error("the simulator does not support the whole catalogue")
		}
	})
	changes := map[string]proto.Message{}
	for _, v := range catalogue(t, "changes.json") {
		changes[linuxtest.Key(t, v)] = v
	}
	for _, v := range items {
		if other, ok := changes[linuxtest.Key(t, v)]; ok {
			v = other
		}
		changed = append(changed, v)
	}
	return items, changed
}

// makeForeign makes two namespaces with the objects of other programs.
func makeForeign(t *testing.T, w *nltest.World) {
	t.Helper()
	left, own := w.Make(t, "left"), w.Open(t, "")
	if w.Sim != nil {
		w.Sim.AddDevice("eth")
		must(t, left.AddVeth(t.Context(), "foreign", "foreign-peer"))
		must(t, left.SetUp(t.Context(), nltest.MustLink(t, left, "foreign").Index, true))
		must(t, own.SetUp(t.Context(), nltest.MustLink(t, own, "eth").Index, true))
		must(t, own.SetSysctl(t.Context(), "eth", "ipv4.rp_filter", 0))
		must(t, left.SetUp(t.Context(), nltest.MustLink(t, left, "lo").Index, true))
		return
	}
	for _, ns := range []string{"own", "left"} {
		for line := range strings.Lines(foreign) {
			if _, err := inside(t, w, ns, "sh", "-ec", line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
}

// foreign are the commands of other programs.
const foreign = `ip link add name eth type veth peer name eth-peer
ip link set eth up && ip link set eth-peer up && ip link set lo up
ip link add name foreign-br type bridge && ip link set eth-peer master foreign-br && ip link set foreign-br up
ip address add 10.99.0.1/24 dev eth && ip address add fd00:99::1/64 dev eth
ip route add 10.98.0.0/16 via 10.99.0.2 && ip route add 10.97.0.0/16 via 10.99.0.2 table 77 && ip route add blackhole 10.96.0.0/16
ip -6 route add fd00:98::/64 via fd00:99::2 proto static
ip rule add from 10.97.0.0/16 table 77 priority 500 && ip -6 rule add from fd00:97::/64 table 77 priority 501
ip neighbour add 10.99.0.7 lladdr 02:00:00:00:00:99 dev eth nud permanent
echo 1 > /proc/sys/net/ipv4/conf/eth/arp_announce && echo 0 > /proc/sys/net/ipv6/conf/eth/accept_ra
iptables-nft -A INPUT -s 10.97.0.1 -j DROP && iptables-nft -P FORWARD DROP && ip6tables-nft -N FOREIGN && ip6tables-nft -t nat -A POSTROUTING -s fd00:97::1 -j MASQUERADE
nft add table inet foreign && nft add chain inet foreign c '{ type filter hook input priority 5; }' && nft add rule inet foreign c ip saddr 10.97.0.2 drop
`

// inside runs a program in a namespace.
func inside(t *testing.T, w *nltest.World, ns string, command ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + w.Path(ns)}, command...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return string(out), nil
}

// unsteady is what changes by itself: timers of bridges, the number of connections, and the
// counters of packets ("[1:154]"), among them those that the kernel sends itself.
var unsteady = regexp.MustCompile(`(hello|tcn|topology_change|gc)_timer +[0-9.]+|net\.netfilter\.nf_conntrack_count = \d+|\[\d+:\d+\]|counter packets \d+ bytes \d+`)

// everything returns all that programs print about the networking of the namespaces.
func everything(t *testing.T, w *nltest.World) string {
	t.Helper()
	if w.Sim != nil {
		return w.Sim.String()
	}
	var all strings.Builder
	for _, ns := range []string{"own", "left"} {
		for _, command := range []string{
			"ip -d link", "ip address", "ip route show table all", "ip -6 route show table all", "ip rule", "ip -6 rule", "ip neighbour show nud permanent",
			"nft list ruleset", "iptables-nft-save", "ip6tables-nft-save", "iptables-legacy-save", "ip6tables-legacy-save", "sysctl -e -a --pattern ^net",
		} {
			out, err := inside(t, w, ns, strings.Fields(command)...)
			must(t, err)
			for line := range strings.Lines(unsteady.ReplaceAllString(out, "")) {
				if !strings.HasPrefix(line, "#") { // the time
					fmt.Fprintf(&all, "%s: %s: %s", ns, command, line)
				}
			}
		}
	}
	return all.String()
}

// settled waits until the kernel has checked all IPv6 addresses, and returns everything.
func settled(t *testing.T, w *nltest.World) (text string) {
	t.Helper()
	nltest.Poll(t, "the kernel has checked all IPv6 addresses", func() bool {
		before := text
		text = everything(t, w)
		return !strings.Contains(text, " tentative") && text == before
	})
	return text
}

// difference returns the lines that are only in one of two texts.
func difference(before, after string) string {
	var out strings.Builder
	for _, c := range []struct{ mark, from, in string }{{"- ", before, after}, {"+ ", after, before}} {
		known := map[string]bool{}
		for line := range strings.Lines(c.in) {
			known[line] = true
		}
		for line := range strings.Lines(c.from) {
			if !known[line] {
				out.WriteString(c.mark + line)
			}
		}
	}
	return out.String()
}

// TestForeignObjects: what other programs have configured is the same before the life of an
// agent and after it: the agent starts, configures everything that it can, changes it, is
// restarted, and deletes everything.
func TestForeignObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	for name, newWorld := range worlds() {
		t.Run(name, func(t *testing.T) {
			items, changed := supported(t, newWorld)
			w := newWorld(t)
			makeForeign(t, w)
			before, stateDir := settled(t, w), t.TempDir()

			a := linuxtest.StartIn(t, w, stateDir)
			must(t, a.Apply(items...))
			awaitConfigured(t, a, items)
			must(t, a.Apply(changed...))
			awaitConfigured(t, a, changed)
			a.Stop()
			if during := everything(t, w); !strings.Contains(difference(before, during), "+ ") {
				t.Fatal("the agent configured nothing")
			}
			a = linuxtest.StartIn(t, w, stateDir)
			must(t, a.Resync(changed...))
			awaitConfigured(t, a, changed)
			must(t, a.Apply(items...))
			awaitConfigured(t, a, items)
			must(t, a.Delete(items...))
			a.Stop()
			if after := settled(t, w); after != before {
				t.Errorf("what others configured is not what it was:\n%s", difference(before, after))
			}
		})
	}
}

// worlds are the kernels to test with.
func worlds() map[string]func(testing.TB) *nltest.World {
	return map[string]func(testing.TB) *nltest.World{
		"sim":    func(testing.TB) *nltest.World { return nltest.Sim() },
		"kernel": nltest.Kernel,
	}
}

func awaitConfigured(t *testing.T, a *linuxtest.Agent, items []proto.Message) {
	t.Helper()
	var waiting []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("not configured: %v", waiting)
		}
	})
	a.Quiet("everything is configured", func() bool {
		waiting = nil
		for _, v := range items {
			if status := a.State(linuxtest.Key(t, v)); status.GetState() != configured {
				waiting = append(waiting, status.String())
			}
		}
		return len(waiting) == 0
	})
}
