package descriptor

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// A value is looked for where it says that it is: the kernel does not know which values
// there are. Each table of each namespace is read once.

// retrieval is one reading of the tables.
type retrieval struct {
	chains
	read map[source]table // nil: not there
}

type source struct {
	namespace string
	table     netlinkapi.FilterTable
}

// find reads one value; nil if it is not there.
func (r *retrieval) find(ctx context.Context, kv chainKV) (*ruleChain, packetfilter.Metadata, error) {
	none := packetfilter.Metadata{}
	h, err := r.Namespaces.Open(ctx, kv.Value.GetNamespace())
	if err != nil {
		return nil, none, r.IgnoreUnreadable(kv.Value.GetNamespace(), err)
	}
	defer closeHandle(h)
	p := r.place(kv.Value)
	t, err := r.table(ctx, h, p.table)
	if err != nil {
		return nil, none, r.IgnoreUnreadable(kv.Value.GetNamespace(), err)
	}
	c := t[p.chain]
	if c == nil {
		return nil, none, nil
	}
	v := proto.CloneOf(kv.Value)
	if p.hook != "" {
		own, _ := p.split(t[p.hook].jumps())
		if len(own) != 1 {
			return nil, none, nil // nothing uses the chain, or twice: make it again
		}
		v.DefaultPolicy = iptables.RuleChain_NONE
		if own[0].former != "" {
			v.DefaultPolicy = iptables.RuleChain_Policy(iptables.RuleChain_Policy_value[t[p.hook].policy])
		}
	}
	if kv.Metadata.Printed == c.fingerprint() {
		return v, kv.Metadata, nil
	}
	v.Rules = r.rules(ctx, h, p, t, kv.Value)
	if slices.Equal(v.GetRules(), kv.Value.GetRules()) {
		return v, packetfilter.Metadata{Printed: c.fingerprint()}, nil
	}
	return v, none, nil
}

// table reads a table.
func (r *retrieval) table(ctx context.Context, h netlinkapi.Handle, of netlinkapi.FilterTable) (table, error) {
	s := source{h.Namespace().String(), of}
	if t, again := r.read[s]; again {
		return t, nil
	}
	t, err := readTable(ctx, h, of)
	if err != nil {
		return nil, err
	}
	r.read[s] = t
	return t, nil
}

// rules returns the rules of a chain: as the value has them, where they are the same. The
// programs print a rule in a form of their own; which one, they tell in an empty namespace.
func (r *retrieval) rules(ctx context.Context, h netlinkapi.PacketFilter, p place, t table, v *ruleChain) []string {
	printed := t[p.chain].rules
	forms := v.GetRules()
	if len(printed) == len(forms) && !slices.EqualFunc(printed, forms, sameRule) {
		text, err := h.TryTable(ctx, p.table, append(declarations(t), p.ruleLines(v)...))
		if tried := parseTable(text)[p.chain]; err == nil && tried != nil && len(tried.rules) == len(forms) {
			forms = tried.rules
		} else {
			r.Log.Debug("rules are compared as they are written", "chain", p.chain, "error", err)
		}
	}
	rules := slices.Clone(printed)
	for i := range min(len(rules), len(forms)) {
		if sameRule(rules[i], forms[i]) {
			rules[i] = v.GetRules()[i]
		}
	}
	return rules
}

// declarations declares the chains of a table, which rules may jump to.
func declarations(t table) []string {
	var lines []string
	for _, name := range t.custom() {
		lines = append(lines, ":"+name+" - [0:0]")
	}
	return lines
}
