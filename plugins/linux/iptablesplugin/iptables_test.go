package iptablesplugin_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	filter  = netlinkapi.FilterTable{Name: "filter"}
	filter6 = netlinkapi.FilterTable{Name: "filter", IPv6: true}
	nat     = netlinkapi.FilterTable{Name: "nat"}
	own     = &namespace.NetNamespace{}
	left    = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the test on the simulator and on the kernel with both variants of iptables.
func run(t *testing.T, f func(t *testing.T, w *nltest.World)) {
	t.Run("sim", func(t *testing.T) { f(t, nltest.Sim()) })
	for _, variant := range []string{"nft", "legacy"} {
		t.Run(variant, func(t *testing.T) {
			w := nltest.Kernel(t)
			usePrograms(t, variant)
			f(t, w)
		})
	}
}

// usePrograms makes a variant of iptables the one that is found.
func usePrograms(t *testing.T, variant string) {
	t.Helper()
	path, err := exec.LookPath("xtables-" + variant + "-multi")
	if err != nil {
		t.Skipf("SKIPPED: iptables-%s is not tested, because it is not installed (package iptables)", variant)
	}
	dir := t.TempDir()
	for _, name := range []string{"iptables-save", "iptables-restore", "ip6tables-save", "ip6tables-restore"} {
		must(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	t.Setenv("PATH", dir)
}

func custom(ns *namespace.NetNamespace) *iptables.RuleChain {
	return &iptables.RuleChain{Name: "own/chain", Namespace: ns, ChainName: "OWN", Rules: []string{
		"-s 192.168.0.1  -p tcp --dport 80 -j ACCEPT",
		`-p tcp -m multiport --dports 80,443 -m comment --comment "a \"b\" 'c'" -j DROP`,
		"-p tcp --syn -m limit --limit 5/minute -j REJECT",
		"-d 10.1.2.3/255.255.255.0 -j RETURN",
	}}
}

func input(policy iptables.RuleChain_Policy) *iptables.RuleChain {
	return &iptables.RuleChain{Name: "in", Namespace: left, ChainType: iptables.RuleChain_INPUT, DefaultPolicy: policy,
		Rules: []string{"-i lo -j ACCEPT", "-m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT"}}
}

func saved(t *testing.T, h netlinkapi.Handle, of netlinkapi.FilterTable) string {
	t.Helper()
	text, err := h.SaveTable(context.Background(), of)
	must(t, err)
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "#")
	})
	return strings.Join(lines, "\n")
}

func restore(t *testing.T, h netlinkapi.Handle, lines ...string) {
	t.Helper()
	must(t, h.RestoreTable(context.Background(), filter, lines))
}

func has(t *testing.T, h netlinkapi.Handle, of netlinkapi.FilterTable, lines ...string) {
	t.Helper()
	text := saved(t, h, of)
	for _, line := range lines {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

func unchanged(t *testing.T, a *linuxtest.Agent, values ...proto.Message) {
	t.Helper()
	must(t, a.Resync(values...))
	if ops := a.Executed(); len(ops) != 0 {
		t.Errorf("a resync without changes did %v", ops)
	}
}

// Chains come, survive a restart, change in place, and go without a trace.
func TestChains(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		h := w.Make(t, "left")
		before, before6, beforeNAT := saved(t, h, filter), saved(t, h, filter6), saved(t, h, nat)
		v6 := &iptables.RuleChain{Name: "six", Namespace: left, Protocol: iptables.RuleChain_IPV6, ChainType: iptables.RuleChain_FORWARD,
			Rules: []string{"-s fd00::1 -j DROP"}}
		masquerade := &iptables.RuleChain{Name: "masquerade", Namespace: left, Table: iptables.RuleChain_NAT,
			ChainType: iptables.RuleChain_POSTROUTING, Rules: []string{"-s 10.0.0.0/8 -j MASQUERADE"}}
		all := []proto.Message{custom(own), input(iptables.RuleChain_DROP), v6, masquerade}
		a := linuxtest.Start(t, w)
		must(t, a.Apply(all...))
		a.Expect(kvscheduler.ValueState_CONFIGURED, all...)
		has(t, w.Open(t, ""), filter, "-A OWN -s 192.168.0.1", `"a \"b\" \'c\'"`)
		has(t, h, filter, ":INPUT DROP", "-i lo -j ACCEPT", "-A INPUT -m comment --comment")
		has(t, h, filter6, "-s fd00::1")
		has(t, h, nat, "-j MASQUERADE")
		unchanged(t, a, all...)
		a.Stop()

		a = linuxtest.Start(t, w)
		unchanged(t, a, all...)
		more := custom(own)
		more.Rules = append(more.Rules[1:], "-j DROP")
		must(t, a.Apply(more))
		if ops := a.Executed(); len(ops) != 1 || !strings.HasPrefix(ops[0], "UPDATE") {
			t.Errorf("a change of rules did %v", ops)
		}
		if text := saved(t, w.Open(t, ""), filter); strings.Contains(text, "192.168.0.1") || !strings.Contains(text, "-A OWN -j DROP") {
			t.Errorf("the rules are not the changed ones:\n%s", text)
		}
		must(t, a.Delete(all...))
		for of, text := range map[netlinkapi.FilterTable]string{filter: before, filter6: before6, nat: beforeNAT} {
			if after := saved(t, h, of); after != text {
				t.Errorf("%v was\n%s and is\n%s", of, text, after)
			}
		}
	})
}

// The agent keeps the rules of others. On delete it restores the policy that the chain had
// before the agent changed it.
func TestForeignRulesAndPolicy(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		h := w.Make(t, "left")
		restore(t, h, ":FOREIGN - [0:0]", "-A INPUT -j FOREIGN", "-A FOREIGN -j ACCEPT")
		before := saved(t, h, filter)
		a := linuxtest.Start(t, w)
		second := input(iptables.RuleChain_DROP)
		second.Name = "second"
		must(t, a.Apply(input(iptables.RuleChain_DROP), second))
		has(t, h, filter, ":INPUT DROP", "-A INPUT -j FOREIGN", "-A FOREIGN -j ACCEPT")
		must(t, a.Delete(second))
		has(t, h, filter, ":INPUT DROP")
		must(t, a.Apply(input(iptables.RuleChain_NONE)))
		has(t, h, filter, ":INPUT ACCEPT")
		must(t, a.Apply(input(iptables.RuleChain_DROP)))
		a.Stop()

		a = linuxtest.Start(t, w)
		unchanged(t, a, input(iptables.RuleChain_DROP))
		must(t, a.Delete(input(iptables.RuleChain_DROP)))
		if after := saved(t, h, filter); after != before {
			t.Errorf("the table was\n%s and is\n%s", before, after)
		}
	})
}

// Rules that change, or go, while the agent is stopped are changed when it has read the chain.
func TestChangedWhileStopped(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		h, dir := w.Make(t, "left"), t.TempDir()
		for _, rules := range [][]string{{"-s 10.0.0.1/32 -j ACCEPT", "-i lo -j DROP"}, {"-s 10.0.0.2/32 -j ACCEPT"}, nil} {
			chain := custom(left)
			chain.Rules = rules
			a := linuxtest.StartIn(t, w, dir)
			must(t, a.Resync(chain))
			a.Stop()
			text := saved(t, h, filter)
			if got := strings.Count(text, "-A OWN "); got != len(rules) {
				t.Errorf("expected %q in\n%s", rules, text)
			}
			for _, rule := range rules {
				has(t, h, filter, "-A OWN "+rule)
			}
		}
	})
}

// What another process changes in a chain is repaired.
func TestRepair(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		h := w.Make(t, "left")
		a := linuxtest.Start(t, w)
		chain := custom(left)
		must(t, a.Apply(chain, input(iptables.RuleChain_DROP)))
		want := saved(t, h, filter)
		restore(t, h, ":OWN - [0:0]", "-A OWN -j DROP", "-P INPUT ACCEPT")
		must(t, a.Resync(chain, input(iptables.RuleChain_DROP)))
		if got := saved(t, h, filter); got != want {
			t.Errorf("the table is\n%s\nexpected\n%s", got, want)
		}
	})
}

// A rule that iptables refuses fails with its message, and the chain stays as it was.
func TestRefusedRule(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		h := w.Make(t, "left")
		a := linuxtest.Start(t, w)
		must(t, a.Apply(custom(left)))
		before := saved(t, h, filter)
		bad := custom(left)
		bad.Rules = []string{"-j ACCEPT", "-s 10.0.0.1 --dport 1 -j NOSUCHCHAIN"}
		err := linuxtest.Failed(a.Apply(bad), linuxtest.Key(t, bad))
		if err == nil || !strings.Contains(err.Error(), `rules[1]: `) || !strings.Contains(err.Error(), `"-A OWN -s 10.0.0.1 --dport 1 -j NOSUCHCHAIN"`) {
			t.Errorf("the error is %v", err)
		}
		if after := saved(t, h, filter); after != before {
			t.Errorf("the table was\n%s and is\n%s", before, after)
		}
	})
}

// A chain that jumps to the chain of another value is created after it and removed before
// it, with the retries of the transaction.
func TestJumps(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		h := w.Make(t, "left")
		before := saved(t, h, filter)
		a := linuxtest.Start(t, w)
		from := &iptables.RuleChain{Name: "a", Namespace: left, ChainType: iptables.RuleChain_INPUT, Rules: []string{"-j OWN"}}
		to := custom(left)
		to.Name = "b"
		commit := func(from, to proto.Message, state kvscheduler.ValueState) {
			t.Helper()
			txn := a.StartNBTransaction()
			txn.SetValue("config/linux/iptables/v2/rulechain/a", from)
			txn.SetValue("config/linux/iptables/v2/rulechain/b", to)
			_, err := txn.Commit(t.Context(), api.WithRetry(api.RetryOpts{Period: time.Millisecond}))
			t.Logf("first attempt: %v", err)
			a.Quiet("the last retry", func() bool {
				return a.State("config/linux/iptables/v2/rulechain/a").GetState() == state &&
					a.State("config/linux/iptables/v2/rulechain/b").GetState() == state
			})
		}
		commit(from, to, kvscheduler.ValueState_CONFIGURED)
		has(t, h, filter, "-j OWN")
		if err := a.Delete(to); err == nil || !strings.Contains(err.Error(), "in use by rules of") {
			t.Errorf("the deletion of a chain in use: %v", err)
		}
		commit(nil, nil, kvscheduler.ValueState_NONEXISTENT)
		if after := saved(t, h, filter); after != before {
			t.Errorf("the table was\n%s and is\n%s", before, after)
		}
	})
}

// Thousands of rules are one change.
func TestManyRules(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		w.Make(t, "left")
		chain := &iptables.RuleChain{Name: "many", Namespace: left, ChainName: "MANY"}
		for i := range 5000 {
			chain.Rules = append(chain.Rules, fmt.Sprintf("-s 10.0.%d.%d -p udp --dport %d -j ACCEPT", i/250, i%250, 1000+i))
		}
		a := linuxtest.Start(t, w)
		must(t, a.Apply(chain))
		if w.Sim != nil && w.Sim.Calls("RestoreTable") != 1 {
			t.Errorf("%d changes, expected 1", w.Sim.Calls("RestoreTable"))
		}
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, chain)
	})
}

// A chain waits for its interfaces, and a namespace that is gone has none.
func TestDependencies(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		chain := custom(left)
		chain.Interfaces = []string{"d"}
		must(t, a.Apply(chain))
		a.Expect(kvscheduler.ValueState_PENDING, chain)
		must(t, a.Apply(&interfaces.Interface{Name: "d", Type: interfaces.Interface_LOOPBACK}))
		a.Expect(kvscheduler.ValueState_CONFIGURED, chain)
		w.Remove(t, "left")
		must(t, a.Delete(chain))
	})
}

// Without the programs a value is UNIMPLEMENTED, and the error names the package.
func TestNoProgram(t *testing.T) {
	w := nltest.Kernel(t)
	t.Setenv("PATH", t.TempDir())
	a := linuxtest.Start(t, w)
	chain := custom(nil)
	if err := linuxtest.Failed(a.Apply(chain), linuxtest.Key(t, chain)); err == nil || !strings.Contains(err.Error(), "package iptables") {
		t.Errorf("the error is %v", err)
	}
	a.Expect(kvscheduler.ValueState_UNIMPLEMENTED, chain)
	must(t, a.Delete(chain))
}

func TestValidation(t *testing.T) {
	t.Parallel()
	a := linuxtest.Start(t, nltest.Sim())
	for field, v := range map[string]*iptables.RuleChain{
		"chain_name":     {},
		"chain_name ":    {ChainName: strings.Repeat("X", 29)},
		"chain_name  ":   {ChainName: "A B"},
		"chain_name   ":  {ChainName: "INPUT"},
		"chain_type":     {Table: iptables.RuleChain_NAT, ChainType: iptables.RuleChain_FORWARD},
		"chain_type ":    {ChainType: iptables.RuleChain_PREROUTING},
		"default_policy": {ChainName: "X", DefaultPolicy: iptables.RuleChain_DROP},
		"default_policy ": {Table: iptables.RuleChain_NAT, ChainType: iptables.RuleChain_OUTPUT,
			DefaultPolicy: iptables.RuleChain_DROP},
		"rules[1]":      {ChainName: "X", Rules: []string{"-j ACCEPT", "-j ACCEPT\nCOMMIT"}},
		"interfaces[1]": {ChainName: "X", Interfaces: []string{"a", "a"}},
		"namespace":     {ChainName: "X", Namespace: &namespace.NetNamespace{Reference: "x"}},
		"table":         {ChainName: "X", Table: 9},
	} {
		v.Name = "x"
		err := linuxtest.Failed(a.Apply(v), linuxtest.Key(t, v))
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(field)) {
			t.Errorf("%v: error %v, expected one about %s", v, err, field)
		}
		a.Expect(kvscheduler.ValueState_INVALID, v)
	}
}
