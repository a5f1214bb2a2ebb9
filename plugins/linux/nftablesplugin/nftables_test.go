package nftablesplugin_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	configured = kvscheduler.ValueState_CONFIGURED
	pending    = kvscheduler.ValueState_PENDING
)

var (
	left    = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}
	tableIn = netlinkapi.NFTable{Family: "inet", Name: "agent"}
	foreign = netlinkapi.NFTable{Family: "ip", Name: "agent"}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the test on the simulator and on the kernel.
func run(t *testing.T, f func(t *testing.T, w *nltest.World)) {
	t.Run("sim", func(t *testing.T) { t.Parallel(); f(t, nltest.Sim()) })
	t.Run("kernel", func(t *testing.T) { t.Parallel(); f(t, withNFT(t)) })
}

// withNFT returns namespaces of the kernel.
func withNFT(t *testing.T) *nltest.World {
	t.Helper()
	w := nltest.Kernel(t)
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("SKIPPED: nftables is not tested, because nft is not installed (package nftables)")
	}
	return w
}

func unchanged(t *testing.T, a *linuxtest.Agent, values ...proto.Message) {
	t.Helper()
	must(t, a.Resync(values...))
	if ops := a.Executed(); len(ops) != 0 {
		t.Errorf("a resync without changes did %v", ops)
	}
}

// content is a table; rules are the rules of the chain out.
func content(rules ...string) string {
	return `# the firewall
set blocked {
    type ipv4_addr
    flags interval
    elements = { 192.0.2.0/24,
                 198.51.100.7 }
}
chain in {
    type filter hook input priority 0; policy accept;
    iifname "lo" counter accept # "quoted" {
    ip saddr @blocked drop
    jump more
}
chain more {
    tcp dport { 80, 443 } accept
}
chain out {
    type filter hook output priority filter
` + strings.Join(rules, "\n") + `
}
`
}

func tableOf(ns *namespace.NetNamespace, rules ...string) *nftables.Table {
	return &nftables.Table{Name: "the/table", TableName: "agent", Namespace: ns, Content: content(rules...)}
}

// listed returns a table as it is in the kernel; empty if it is not there.
func listed(t *testing.T, h netlinkapi.Handle, of netlinkapi.NFTable) string {
	t.Helper()
	text, err := h.NFTable(context.Background(), of, true)
	if netlinkapi.IsGone(err) {
		return ""
	}
	must(t, err)
	return text
}

// set changes a table as another program does.
func set(t *testing.T, h netlinkapi.Handle, of netlinkapi.NFTable, content string) {
	t.Helper()
	must(t, h.SetNFTable(context.Background(), of, content))
}

// TestTables: tables are made in their namespaces, found again by the next agent, changed in
// one transaction and deleted, and tables of other programs stay.
func TestTables(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		set(t, own, foreign, "chain c {\n}")
		before := listed(t, own, foreign)
		a := linuxtest.Start(t, w)
		here, there := tableOf(nil, "counter accept"), tableOf(left, "ip daddr 10.0.0.1 drop")
		there.Name = "other"
		must(t, a.Apply(here, there))
		a.Expect(configured, here, there)
		inLeft := w.Open(t, "left")
		if text := listed(t, own, tableIn); !strings.Contains(text, "ip saddr @blocked drop") || !strings.Contains(text, `comment "tenuto:`) {
			t.Errorf("the table is\n%s", text)
		}
		if text := listed(t, inLeft, tableIn); !strings.Contains(text, "ip daddr 10.0.0.1 drop") {
			t.Errorf("the table is\n%s", text)
		}
		unchanged(t, a, here, there)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, here, there)

		spelled := proto.CloneOf(here)
		spelled.Content = "# other remarks\n" + strings.ReplaceAll(strings.ReplaceAll(here.Content, "    ", "\t"), "# the firewall\n", "\n")
		must(t, a.Apply(spelled))
		if ops := a.Executed(); len(ops) != 0 {
			t.Errorf("another indentation did %v", ops)
		}
		changed := tableOf(nil, "counter drop")
		must(t, a.Apply(changed))
		if ops := a.Executed(); !slices.Equal(ops, []string{"UPDATE " + linuxtest.Key(t, changed)}) {
			t.Errorf("operations are %v, expected one update", ops)
		}
		if text := listed(t, own, tableIn); !strings.Contains(text, "counter packets 0 bytes 0 drop") {
			t.Errorf("the table is\n%s", text)
		}
		must(t, a.Resync())
		if text := listed(t, own, tableIn) + listed(t, inLeft, tableIn); text != "" {
			t.Errorf("left behind:\n%s", text)
		}
		if after := listed(t, own, foreign); after != before {
			t.Errorf("the table of another program was\n%s and is\n%s", before, after)
		}
	})
}

// TestDrift: what another program changes in a table is repaired, also while no agent runs.
func TestDrift(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		v := tableOf(nil, "counter accept")
		must(t, a.Apply(v))
		want := listed(t, own, tableIn)
		drift := func() {
			t.Helper()
			set(t, own, tableIn, strings.Replace(want, "jump more", "accept", 1))
			if listed(t, own, tableIn) == want {
				t.Error("nothing changed")
			}
		}
		drift()
		must(t, a.Resync(v))
		if got := listed(t, own, tableIn); got != want {
			t.Errorf("the table is\n%s\nexpected\n%s", got, want)
		}
		must(t, own.DeleteNFTable(context.Background(), tableIn))
		must(t, a.Resync(v))
		a.Stop()
		drift()
		a = linuxtest.Start(t, w)
		must(t, a.Resync(v))
		if got := listed(t, own, tableIn); got != want {
			t.Errorf("the table is\n%s\nexpected\n%s", got, want)
		}
	})
}

// TestCounters: rules that stay keep their counters over a change of others.
func TestCounters(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		must(t, a.Apply(tableOf(nil, "ip daddr 10.0.0.1 counter accept", "ip daddr 10.0.0.2 counter drop")))
		text := listed(t, own, tableIn)
		set(t, own, tableIn, strings.Replace(text, "10.0.0.1 counter packets 0 bytes 0", "10.0.0.1 counter packets 5 bytes 420", 1)) // as packets do
		changed := tableOf(nil, "ip daddr 10.0.0.3 counter drop", "ip daddr 10.0.0.1 counter accept")
		must(t, a.Apply(changed))
		text = listed(t, own, tableIn)
		for _, want := range []string{"10.0.0.1 counter packets 5 bytes 420 accept", "10.0.0.3 counter packets 0 bytes 0 drop"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		unchanged(t, a, changed)
	})
}

// TestForeignTable: a table of another program is not taken, nor deleted.
func TestForeignTable(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		set(t, own, tableIn, "chain c {\n}")
		before := listed(t, own, tableIn)
		a := linuxtest.Start(t, w)
		v := tableOf(nil, "accept")
		if text := linuxtest.ErrorText(a.Apply(v)); !strings.Contains(text, "table inet agent does not belong to the item") {
			t.Errorf("error is %q", text)
		}
		must(t, a.Delete(v))
		if after := listed(t, own, tableIn); after != before {
			t.Errorf("the table of another program was\n%s and is\n%s", before, after)
		}
		must(t, own.DeleteNFTable(context.Background(), tableIn))
		must(t, a.Apply(v))
		twin := tableOf(nil, "drop")
		twin.Name = "twin"
		if text := linuxtest.ErrorText(a.Apply(twin)); !strings.Contains(text, "another item") {
			t.Errorf("error is %q", text)
		}
		must(t, a.Delete(twin))
		if text := listed(t, own, tableIn); !strings.Contains(text, "accept") {
			t.Errorf("the table is\n%s", text)
		}
	})
}

// TestRefused: the value has nft's message as its error, and the table stays as it was.
func TestRefused(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		must(t, a.Apply(tableOf(nil, "accept")))
		before := listed(t, own, tableIn)
		for rule, want := range map[string]string{
			"bogus":        "nft: line 19: syntax error",
			"jump nowhere": "nft: line 19: Could not process rule: No such file or directory",
		} {
			v := tableOf(nil, rule)
			err := linuxtest.Failed(a.Apply(v), linuxtest.Key(t, v))
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `content: "`+rule+`": `) {
				t.Errorf("error is %v, expected %q", err, want)
			}
			if after := listed(t, own, tableIn); after != before {
				t.Errorf("the table was\n%s and is\n%s", before, after)
			}
		}
	})
}

// TestDynamicSet: elements that packets add to a set are no drift.
func TestDynamicSet(t *testing.T) {
	t.Parallel()
	w := withNFT(t)
	own := w.Open(t, "")
	a := linuxtest.Start(t, w)
	v := &nftables.Table{Name: "agent", Content: "set seen {\n type ipv4_addr\n size 100\n flags dynamic,timeout\n timeout 1h\n}\n" +
		"chain c {\n ip saddr 10.0.0.1 add @seen { ip saddr }\n}\ncounter total {\n}\n"}
	must(t, a.Apply(v))
	text := listed(t, own, tableIn)
	set(t, own, tableIn, strings.Replace(text, "timeout 1h\n", "timeout 1h\n elements = { 10.0.0.1,\n 10.0.0.2 }\n", 1))
	if !strings.Contains(listed(t, own, tableIn), "10.0.0.2") {
		t.Fatal("the set has no elements")
	}
	unchanged(t, a, v)
	a.Stop()
	a = linuxtest.Start(t, w)
	unchanged(t, a, v)
}

// TestLinks: a content that needs links waits for them, and is recognised after a restart.
func TestLinks(t *testing.T) {
	t.Parallel()
	w := withNFT(t)
	own := w.Open(t, "")
	a := linuxtest.Start(t, w)
	v := &nftables.Table{Name: "agent", Family: nftables.Table_NETDEV, Interfaces: []string{"br/1"},
		Content: "chain c {\n type filter hook ingress device \"br1\" priority 0; policy accept;\n meta iif br1 counter\n}\n"}
	must(t, a.Apply(v))
	a.Expect(pending, v)
	br := &interfaces.Interface{Name: "br/1", HostIfName: "br1", Type: interfaces.Interface_BRIDGE, Enabled: true}
	must(t, a.Apply(br))
	a.Expect(configured, v)
	a.Stop()
	a = linuxtest.Start(t, w)
	unchanged(t, a, v, br)
	must(t, a.Delete(v))
	if text := listed(t, own, netlinkapi.NFTable{Family: "netdev", Name: "agent"}); text != "" {
		t.Errorf("left behind:\n%s", text)
	}
}

// TestNamespaceGone: a namespace that is gone has no table.
func TestNamespaceGone(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		v := tableOf(left, "accept")
		must(t, a.Apply(v))
		w.Remove(t, "left")
		must(t, a.Delete(v))
	})
}

// TestNoProgram: without nft a value is UNIMPLEMENTED, and the error names the package.
func TestNoProgram(t *testing.T) {
	w := nltest.Kernel(t)
	t.Setenv("PATH", t.TempDir())
	a := linuxtest.Start(t, w)
	v := tableOf(nil, "accept")
	if err := linuxtest.Failed(a.Apply(v), linuxtest.Key(t, v)); err == nil || !strings.Contains(err.Error(), "package nftables") {
		t.Errorf("the error is %v", err)
	}
	a.Expect(kvscheduler.ValueState_UNIMPLEMENTED, v)
	must(t, a.Delete(v))
}

func TestValidation(t *testing.T) {
	t.Parallel()
	a := linuxtest.Start(t, nltest.Sim())
	for _, c := range []struct {
		v    *nftables.Table
		want string
	}{
		{&nftables.Table{Name: "a/b"}, `name: "a/b"; expected`},
		{&nftables.Table{Name: "x", TableName: "1x"}, `table_name: "1x"`},
		{&nftables.Table{Name: "x", TableName: strings.Repeat("x", 201)}, "table_name"},
		{&nftables.Table{Name: "x", Family: 9}, "family: 9"},
		{&nftables.Table{Name: "x", Namespace: &namespace.NetNamespace{Reference: "x"}}, "namespace"},
		{&nftables.Table{Name: "x", Interfaces: []string{"a", "a"}}, "interfaces[1]"},
		{&nftables.Table{Name: "x", Content: "chain c {\n}\n}\ntable inet other {\n"}, "content: line 3 has a } without a {"},
		{&nftables.Table{Name: "x", Content: "chain c {\n"}, "content: has a { without a }"},
		{&nftables.Table{Name: "x", Content: "chain c {\n} # }"}, ""},
		{&nftables.Table{Name: "x", Content: "chain c {\n accept comment \"}\"\n}"}, ""},
		{&nftables.Table{Name: "x", Content: "chain c {\n accept comment \"}\n\"\n}"}, "content: line 2 has a quote"},
		{&nftables.Table{Name: "x", Content: "chain c {\n include \"/etc/shadow\"\n}"}, "content: line 2 includes a file"},
		{&nftables.Table{Name: "x", Content: "comment \"mine\""}, "content: line 1 is a comment of the table"},
		{&nftables.Table{Name: "x", Content: "chain c {\n accept\x00\n}"}, "control character"},
	} {
		err := linuxtest.Failed(a.Apply(c.v), linuxtest.Key(t, c.v))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, expected %q", c.v, err, c.want)
		}
	}
}

// A table in a container is found again by the next agent, and waits when the container stops.
func TestTableInContainer(t *testing.T) {
	t.Parallel()
	w, engine := withNFT(t), linuxtest.NewEngine(t)
	engine.Listen()
	id, _ := engine.Run("web")
	table := tableOf(&namespace.NetNamespace{Type: namespace.NetNamespace_MICROSERVICE, Reference: "web"}, "counter accept")
	a := linuxtest.StartWithEngine(t, w, engine)
	is := func(state kvscheduler.ValueState) {
		t.Helper()
		a.Quiet(state.String(), func() bool { return a.State(linuxtest.Key(t, table)).GetState() == state })
	}
	must(t, a.Apply(table))
	is(configured) // as soon as the agent has seen the container
	a.Stop()
	a = linuxtest.StartWithEngine(t, w, engine)
	unchanged(t, a, table)
	is(configured)
	engine.Stop(id)
	is(pending)
}
