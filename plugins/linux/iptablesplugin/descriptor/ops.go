package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// set makes the chain or replaces its rules, in one change of the kernel.
func (d chains) set(ctx context.Context, v *ruleChain) (packetfilter.Metadata, error) {
	h, err := d.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return packetfilter.Metadata{}, err
	}
	defer closeHandle(h)
	p := d.place(v)
	lines := p.ruleLines(v)
	if p.hook != "" {
		t, err := readTable(ctx, h, p.table)
		if err != nil {
			return packetfilter.Metadata{}, packetfilter.Explain(err)
		}
		lines = append(lines, p.jumpLines(t, v.GetDefaultPolicy())...)
	}
	if err := h.RestoreTable(ctx, p.table, lines); err != nil {
		return packetfilter.Metadata{}, refusal(err, v)
	}
	return d.printed(ctx, h, p), nil
}

// printed reads the rules back, to recognise them later.
func (d chains) printed(ctx context.Context, f netlinkapi.PacketFilter, p place) packetfilter.Metadata {
	t, err := readTable(ctx, f, p.table)
	if err != nil || t[p.chain] == nil {
		d.Log.Debug("the rules of a chain were not read back", "chain", p.chain, "error", err)
		return packetfilter.Metadata{}
	}
	return packetfilter.Metadata{Printed: t[p.chain].fingerprint()}
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

// delete removes the chain, and restores the policy unless another value sets it.
func (d chains) delete(ctx context.Context, v *ruleChain) error {
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
		return fmt.Errorf("chain %s of %s is in use by rules of %q; expected them to go first", p.chain, p.table.Name, users)
	}
	return h.RestoreTable(ctx, p.table, lines)
}

// users lists the chains with rules that jump to a chain, except one.
func (t table) users(to, except string) []string {
	var users []string
	for name, c := range t {
		if name != except && slices.ContainsFunc(c.rules, func(rule string) bool {
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
