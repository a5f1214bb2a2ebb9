package vpptest_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	kvs "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

var (
	matrixAll  = flag.Bool("matrix-all", false, "TestMatrix: also changed exemplars, and interfaces that are bridged, bonded, down or without address")
	matrixWait = flag.Duration("matrix-wait", time.Second, "TestMatrix: how long a real VPP has to survive a combination")
	matrixOnly = flag.String("matrix-only", "", "TestMatrix: only combinations with this text")
)

// matrixDoc lists which items refuse which kinds of interfaces.
const matrixDoc = "../../../docs/reference/interface-kinds.md"

// updateMatrix is set by go generate ./docs/...
var updateMatrix = flag.Bool("update-matrix", false, "TestMatrix: write the reference")

// combination is an item on an interface of a kind.
type combination struct {
	item, kind, state string
	values            values
	key               string // of the value that names the interface
	iface             string
}

func (c combination) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s on %s %s", c.item, c.kind, c.state))
}

// matrixItems are the items that name interfaces: the catalogue, and what its exemplars lack.
func matrixItems() []catalogue.Item {
	bvi := catalogue.Item{
		Name: "vpp.l2.bridge-domain: BVI", Part: "vpp/bd/bd3/interface/bvi",
		Needs: func() []proto.Message { return []proto.Message{loop("bvi", "10.66.0.1/24")} },
		Make: func() proto.Message {
			return &l2.BridgeDomain{Name: "bd3", Flood: true, Forward: true, Learn: true, Interfaces: []*l2.BridgeDomain_Interface{
				{Name: "bvi", BridgedVirtualInterface: true},
			}}
		},
	}
	frames := catalogue.Item{
		Name: "vpp.srv6.steering: frames",
		Needs: func() []proto.Message {
			return []proto.Message{loop("steered"), catalogue.SRv6Policy("2001:db8:210::1", catalogue.SRv6Segments(1, "2001:db8:1::1"))}
		},
		Make: func() proto.Message {
			s := catalogue.SRv6Steering("frames", "2001:db8:210::1", "")
			s.Traffic = &srv6.Steering_L2Traffic_{L2Traffic: &srv6.Steering_L2Traffic{InterfaceName: "steered"}}
			return s
		},
	}
	all := []catalogue.Item{bvi, frames}
	for _, i := range catalogue.All() {
		all = append(all, i)
		if !*matrixAll || i.Part != "" {
			continue
		}
		for n, change := range slices.Concat(i.Updates, i.Recreates) {
			other := i
			other.Name = fmt.Sprintf("%s, change %d", i.Name, n+1)
			other.Make = func() proto.Message { return i.Changed(change) }
			all = append(all, other)
		}
	}
	return all
}

// matrixStates change the interface, and return the items that put it into a state, by name.
var matrixStates = map[string]func(i *interfaces.Interface) []proto.Message{
	"": func(*interfaces.Interface) []proto.Message { return nil },
	"in a bridge domain": func(i *interfaces.Interface) []proto.Message {
		return []proto.Message{bridge("kindbd", i.Name)}
	},
	"in a bond": func(i *interfaces.Interface) []proto.Message { return []proto.Message{bond("kindbond", 88, i.Name)} },
	"that is down": func(i *interfaces.Interface) []proto.Message {
		i.Enabled = false
		return nil
	},
	"without addresses": func(i *interfaces.Interface) []proto.Message {
		i.IpAddresses = nil
		return nil
	},
}

// combinations returns the combinations of a kind.
func combinations(k catalogue.Kind) (all []combination) {
	states := []string{""}
	if *matrixAll {
		states = slices.Sorted(maps.Keys(matrixStates))
	}
	for _, item := range matrixItems() {
		for _, name := range named(item) {
			for _, state := range states {
				c := combination{item: item.Name, kind: k.Name, state: state, key: item.Key(), iface: name, values: of(k.Needs...)}
				for key, m := range item.Needed() {
					c.values[key] = m
				}
				exemplar := item.Make()
				c.values[key(exemplar)] = exemplar
				i := k.With(c.values[ifKey(name)].(*interfaces.Interface))
				c.values[ifKey(name)] = i
				for _, m := range matrixStates[state](i) {
					c.values[key(m)] = m
				}
				if *matrixOnly == "" || strings.Contains(c.String(), *matrixOnly) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// named are the interfaces that an item names: those that it needs, or whose part it is.
func named(item catalogue.Item) (names []string) {
	for _, m := range item.Needed() {
		if i, ok := m.(*interfaces.Interface); ok {
			names = append(names, i.Name)
		}
	}
	if i, ok := item.Make().(*interfaces.Interface); ok && item.Part != "" && i.GetBond() == nil {
		names = append(names, i.Name)
	}
	slices.Sort(names)
	return names
}

// TestMatrix configures every item that names an interface on every kind of interface. VPP must
// survive each of it. What the agent refuses is in the reference.
func TestMatrix(t *testing.T) {
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		refused := make([][]refusal, len(catalogue.Kinds()))
		t.Run("kinds", func(t *testing.T) {
			for n, k := range catalogue.Kinds() {
				t.Run(k.Name, func(t *testing.T) {
					t.Parallel()
					refused[n] = runMatrix(t, k, vpptest.Simulator(t, simOptions()))
				})
			}
		})
		if *matrixOnly == "" && !*matrixAll {
			matrixTable(t, slices.Concat(refused...))
		}
	})
	t.Run("real", func(t *testing.T) {
		target := vpptest.Real(t)
		host := makeHost(t)
		for _, k := range catalogue.Kinds() {
			t.Run(k.Name, func(t *testing.T) {
				needsReal(t, k, host)
				runMatrix(t, k, target)
			})
		}
	})
}

// needsReal skips the test if a real VPP cannot have interfaces of a kind on this machine. host reports
// whether it has the interface of the kernel.
func needsReal(t *testing.T, k catalogue.Kind, host bool) {
	t.Helper()
	switch {
	case k.Without != "":
		t.Skip("NOT CHECKED AGAINST A REAL VPP: ", k.Without)
	case k.Name == "AF_PACKET" && !host:
		t.Skip("NOT CHECKED AGAINST A REAL VPP: no veth can be made")
	}
}

// refusal is a combination that the agent refuses.
type refusal struct{ item, kind, why string }

func runMatrix(t *testing.T, k catalogue.Kind, target vpptest.Target) (refused []refusal) {
	b := startMatrix(t, target)
	defer func() { b.Stop() }()
	var last []string
	for _, c := range combinations(k) {
		if target.Real != nil && lacksReal(c) {
			continue
		}
		why := configure(b, c)
		last = append(last, c.String()+": "+cmp.Or(why.outcome, "configured"))
		if why.invalid != "" {
			refused = append(refused, refusal{c.item, c.kind, why.invalid})
		}
		t.Logf("%s", last[len(last)-1])
		if target.Real != nil && died(target) {
			t.Errorf("VPP died; the last combinations:\n\t%s", strings.Join(last[max(0, len(last)-3):], "\n\t"))
			b.Stop()
			target.Restart(t)
			b = startMatrix(t, target)
			continue
		}
		if err := b.Commit(deleted(c.values)); err != nil {
			t.Errorf("%s: delete: %v", c, err)
		}
		if target.Real != nil && died(target) {
			t.Errorf("VPP died of the deletion; the last combinations:\n\t%s", strings.Join(last[max(0, len(last)-3):], "\n\t"))
			b.Stop()
			target.Restart(t)
			b = startMatrix(t, target)
		}
	}
	return refused
}

func startMatrix(t *testing.T, target vpptest.Target) *vpptest.Harness {
	b := vpptest.Start(t, target, vpptest.Quiet())
	announceHosts(t, b)
	b.SetHostInterface(catalogue.KindHost, true)
	return b
}

// makeHost makes the interface of the kernel that a real VPP opens. It reports whether it could.
func makeHost(t *testing.T) bool {
	if err := exec.Command("ip", "link", "add", catalogue.KindHost, "type", "veth", "peer", "name", "kindpeer").Run(); err != nil {
		return false
	}
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", catalogue.KindHost).Run() })
	return true
}

// lacksReal reports whether the machine lacks what the items need of a real VPP.
func lacksReal(c combination) bool {
	for _, i := range catalogue.All() {
		if i.Name == c.item {
			return !i.Real()
		}
	}
	return false
}

// died waits whether VPP survives.
func died(target vpptest.Target) bool {
	select {
	case <-target.Real.Exited():
		return true
	case <-time.After(*matrixWait):
		return false
	}
}

// outcome is what became of a combination.
type outcome struct {
	outcome string // the values that are not configured
	invalid string // why the value that names the interface is invalid
}

func configure(b *vpptest.Harness, c combination) (out outcome) {
	_ = b.Commit(c.values)
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		status := b.Scheduler.GetValueStatus(key)
		for _, v := range append(status.GetDerivedValues(), status.GetValue()) {
			if s := v.GetState(); s == kvs.ValueState_CONFIGURED || s == kvs.ValueState_OBTAINED {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s is %s: %s", v.GetKey(), v.GetState(), api.Reason(v)))
			if v.GetState() == kvs.ValueState_INVALID && (v.GetKey() == c.key || key == c.key || key == ifKey(c.iface)) {
				out.invalid = cmp.Or(out.invalid, v.GetError())
			}
		}
	}
	out.outcome = strings.Join(lines, "; ")
	return out
}

// matrixTable compares the refusals with the reference.
func matrixTable(t *testing.T, all []refusal) {
	t.Helper()
	kinds := map[string][]string{}
	for _, r := range all {
		if vppDoes[r.item] == "" {
			t.Errorf("%s: refused, and vppDoes does not say what VPP does", r.item)
		}
		row := fmt.Sprintf("| %s | %s | %s |", r.item, withoutName(r.why), vppDoes[r.item])
		kinds[row] = append(kinds[row], r.kind)
	}
	var text strings.Builder
	text.WriteString(matrixHead)
	for _, row := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[row])
		fmt.Fprintf(&text, "%s %s |\n", row, strings.Join(slices.Compact(kinds[row]), "; "))
	}
	if *updateMatrix {
		if err := os.WriteFile(matrixDoc, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(matrixDoc)
	if err != nil || string(was) != text.String() {
		t.Errorf("%s is not up to date (%v): run go generate ./docs/...; expected\n%s", matrixDoc, err, text.String())
	}
}

// vppDoes is what VPP 25.10 does with items that the agent refuses, as measured or, for what writes
// and reads memory of others, from its sources.
var vppDoes = map[string]string{
	"vpp.arp":                                   "builds the header from the memory of another interface",
	"vpp.interfaces BOND_INTERFACE: members":    "without MAC address: SIGSEGV at once; a bond: refuses it; a sub-interface: changes its parent",
	"vpp.interfaces SUB_INTERFACE":              "accepts it; no frame ever arrives, or the parent of the parent gets it",
	"vpp.interfaces SUB_INTERFACE: tag rewrite": "accepts it; no frame ever arrives, or the parent of the parent gets it",
	"vpp.interfaces: DHCP client":               "SIGSEGV within a second",
	"vpp.interfaces: IPv6 ND":                   "refuses it",
	"vpp.ip6nd.ra":                              "refuses it",
	"vpp.l2.bridge-domain: BVI":                 "SIGSEGV at once",
	"vpp.lldp.interface":                        "refuses it, or takes another interface",
	"vpp.srv6.steering: frames":                 "writes into the memory of another interface; a sub-interface: refuses it",
	"vpp.vrrp":                                  "builds the header from the memory of another interface",
	"vpp.vrrp: unicast":                         "builds the header from the memory of another interface",
	"vpp.wg.peer":                               "refuses it",
}

// noMAC matches the reason of an interface that is refused by itself.
var noMAC = regexp.MustCompile(`: an? [^,]* has no MAC address`)

// withoutName cuts the name of the interface and its kind off a reason.
func withoutName(why string) string {
	why, _, _ = strings.Cut(why, `; "`)
	why = noMAC.ReplaceAllString(why, ": no MAC address")
	return strings.ReplaceAll(why, "|", "\\|")
}

const matrixHead = `# Items and kinds of interfaces

Generated by a test, which configures every item that names an interface on every kind of interface.
The agent refuses the combinations below: "agentctl check" and "agentctl plan" report them, and VPP
gets no request. The third column says what VPP 25.10 would do. The value is INVALID until it, or the
interface, changes. The agent sends all other combinations, and VPP survives them. If VPP refuses one,
the value says why.

| item | the agent says | VPP 25.10 | kinds of interfaces |
|---|---|---|---|
`
