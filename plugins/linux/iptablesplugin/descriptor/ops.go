package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// group is some values whose chains are in one table of one namespace.
type group struct {
	namespace *namespace.NetNamespace
	table     netlinkapi.FilterTable
	at        []int // of the values
}

// groups puts values together, in their order.
func (d chains) groups(values []*ruleChain) []*group {
	var all []*group
	for i, v := range values {
		table := d.place(v).table
		at := slices.IndexFunc(all, func(g *group) bool {
			return g.table == table && nsmodel.Equal(g.namespace, v.GetNamespace())
		})
		if at < 0 {
			at, all = len(all), append(all, &group{namespace: v.GetNamespace(), table: table})
		}
		all[at].at = append(all[at].at, i)
	}
	return all
}

// forEach runs operations on the values of each group: one on all custom chains, if there are
// several, and if that fails or there is only one, another one on each value. Built-in chains
// are first or last.
func (d chains) forEach(values []*ruleChain, builtinFirst bool, several func(g *group, some []*ruleChain) error,
	one func(g *group, v *ruleChain) error) []packetfilter.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	results := make([]packetfilter.Result, len(values))
	for _, g := range d.groups(values) {
		var custom, builtin []int
		var some []*ruleChain
		for _, i := range g.at {
			if values[i].GetChainType() == iptables.RuleChain_CUSTOM {
				custom, some = append(custom, i), append(some, values[i])
			} else {
				builtin = append(builtin, i)
			}
		}
		alone := func(at []int) {
			for _, i := range at {
				results[i].Err = one(g, values[i])
			}
		}
		if builtinFirst {
			alone(builtin)
		}
		if len(some) < 2 || several(g, some) != nil {
			alone(custom)
		}
		if !builtinFirst {
			alone(builtin)
		}
	}
	return results
}

// set makes chains or replaces their rules: custom ones of one table in one change of the
// kernel.
func (d chains) set(ctx context.Context, values []*ruleChain) []packetfilter.Result {
	return d.forEach(values, false, func(g *group, some []*ruleChain) error {
		h, err := d.Namespaces.Ensure(ctx, g.namespace)
		if err != nil {
			return err
		}
		defer closeHandle(h)
		return h.RestoreTable(ctx, g.table, d.declaredLines(some))
	}, func(_ *group, v *ruleChain) error { return d.setOne(ctx, v) })
}

// declaredLines makes several chains, which may have rules that jump to each other.
func (d chains) declaredLines(some []*ruleChain) []string {
	var lines, rules []string
	for _, v := range some {
		all := d.place(v).ruleLines(v)
		lines, rules = append(lines, all[0]), append(rules, all[1:]...)
	}
	return append(lines, rules...)
}

// setOne makes a chain or replaces its rules, in one change of the kernel. How the programs
// print the rules is found out when they are read.
func (d chains) setOne(ctx context.Context, v *ruleChain) error {
	h, err := d.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return err
	}
	defer closeHandle(h)
	p := d.place(v)
	lines := p.ruleLines(v)
	if p.hook != "" {
		t, err := readTable(ctx, h, p.table)
		if err != nil {
			return packetfilter.Explain(err)
		}
		lines = append(lines, p.jumpLines(t, v.GetDefaultPolicy())...)
	}
	if err := h.RestoreTable(ctx, p.table, lines); err != nil {
		return refusal(err, v)
	}
	return nil
}

// ruleLines declares the chain, which empties it, and adds the rules.
func (p place) ruleLines(v *ruleChain) []string {
	lines := []string{":" + p.chain + " - [0:0]"}
	for _, rule := range v.GetRules() {
		lines = append(lines, "-A "+p.chain+" "+line(rule))
	}
	return lines
}

// jumpLines make the built-in chain jump to the chain, and set its policy. They change
// nothing if all that is there.
func (p place) jumpLines(t table, wanted iptables.RuleChain_Policy) []string {
	hook := t[p.hook]
	if hook == nil {
		hook = &chain{}
	}
	own, others := p.split(hook.jumps())
	former := formerPolicy(others)
	if former == "" {
		former = formerPolicy(own)
	}
	policy := "" // leave it
	switch {
	case wanted != iptables.RuleChain_NONE:
		if policy = wanted.String(); former == "" {
			former = hook.policy
		}
	case formerPolicy(others) == "":
		policy, former = former, ""
	default:
		former = ""
	}
	var lines []string
	if want := p.jump(former); len(own) != 1 || !sameRule(own[0].rule, want) {
		lines = append(p.unjump(own), "-I "+p.hook+" "+want)
	}
	if policy != "" && policy != hook.policy {
		lines = append(lines, "-P "+p.hook+" "+policy)
	}
	return lines
}

// split separates the jumps to the chain from those to chains of other values.
func (p place) split(all []jump) (own, others []jump) {
	for _, j := range all {
		if j.to == p.chain {
			own = append(own, j)
		} else {
			others = append(others, j)
		}
	}
	return own, others
}

// formerPolicy returns the policy that a chain had before any value set it.
func formerPolicy(all []jump) string {
	for _, j := range all {
		if j.former != "" {
			return j.former
		}
	}
	return ""
}

func (p place) unjump(own []jump) []string {
	var lines []string
	for _, j := range own {
		lines = append(lines, "-D "+p.hook+" "+j.rule)
	}
	return lines
}

// delete removes chains: custom ones of one table in one change of the kernel.
func (d chains) delete(ctx context.Context, values []*ruleChain) []packetfilter.Result {
	return d.forEach(values, true, func(g *group, some []*ruleChain) error {
		return packetfilter.IgnoreGone(d.deleteSome(ctx, g, some))
	}, func(_ *group, v *ruleChain) error { return d.deleteOne(ctx, v) })
}

// deleteSome deletes custom chains, which may have rules that jump to each other.
func (d chains) deleteSome(ctx context.Context, g *group, some []*ruleChain) error {
	h, err := d.Namespaces.Open(ctx, g.namespace)
	if err != nil {
		return err
	}
	defer closeHandle(h)
	t, err := readTable(ctx, h, g.table)
	if err != nil {
		return err
	}
	var names, lines []string
	for _, v := range some {
		if name := v.GetChainName(); t[name] != nil {
			names, lines = append(names, name), append(lines, ":"+name+" - [0:0]")
		}
	}
	for _, name := range names {
		if users := t.users(name, names...); len(users) > 0 {
			return inUse(name, g.table, users)
		}
		lines = append(lines, "-X "+name)
	}
	if len(lines) == 0 {
		return nil
	}
	return h.RestoreTable(ctx, g.table, lines)
}

func inUse(chain string, table netlinkapi.FilterTable, users []string) error {
	return fmt.Errorf("chain %s of %s is in use by rules of %q; expected them to go first", chain, table.Name, users)
}

// deleteOne removes a chain, and restores the policy unless another value sets it.
func (d chains) deleteOne(ctx context.Context, v *ruleChain) error {
	h, err := d.Namespaces.Open(ctx, v.GetNamespace())
	if err != nil {
		return packetfilter.IgnoreGone(err)
	}
	defer closeHandle(h)
	p := d.place(v)
	t, err := readTable(ctx, h, p.table)
	if err != nil {
		return packetfilter.IgnoreGone(err)
	}
	var lines []string
	if t[p.chain] != nil {
		lines = append(lines, ":"+p.chain+" - [0:0]")
	}
	if hook := t[p.hook]; hook != nil {
		own, others := p.split(hook.jumps())
		lines = append(lines, p.unjump(own)...)
		if former := formerPolicy(own); former != "" && formerPolicy(others) == "" && former != hook.policy {
			lines = append(lines, "-P "+p.hook+" "+former)
		}
	}
	if t[p.chain] != nil {
		lines = append(lines, "-X "+p.chain)
	}
	if len(lines) == 0 {
		return nil
	}
	if users := t.users(p.chain, p.hook); len(users) > 0 {
		return inUse(p.chain, p.table, users)
	}
	return h.RestoreTable(ctx, p.table, lines)
}

// users lists the chains with rules that jump to a chain, except some.
func (t table) users(to string, except ...string) []string {
	var users []string
	for name, c := range t {
		if !slices.Contains(except, name) && slices.ContainsFunc(c.rules, func(rule string) bool {
			args, err := splitRule(rule)
			return err == nil && (argument(args, "-j") == to || argument(args, "-g") == to)
		}) {
			users = append(users, name)
		}
	}
	slices.Sort(users)
	return users
}

// refusal is the error of a change that was refused, with the rule to blame. Rules follow
// the declaration of the chain.
func refusal(err error, v *ruleChain) error {
	var refused *netlinkapi.LineError
	if errors.As(err, &refused) {
		if i := refused.Line - 1; i >= 0 && i < len(v.GetRules()) {
			return fmt.Errorf("%s: %w", ruleField(i), err)
		}
	}
	return packetfilter.Explain(err)
}

// closeHandle ends a lease; that cannot fail in a way that matters here.
func closeHandle(h netlinkapi.Handle) { _ = h.Close() }
