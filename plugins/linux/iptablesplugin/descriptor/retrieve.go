package descriptor

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// A value is looked for where it says that it is: the kernel does not know which values
// there are. Each table of each namespace is read once.

// retrieval is one reading of the tables.
type retrieval struct {
	chains
	all   []chainKV
	read  map[source]table // nil: not there
	tried map[source]map[*ruleChain][]string
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
	if kv.Metadata.Printed == c.fingerprint(v) {
		return v, kv.Metadata, nil
	}
	v.Rules = r.rules(ctx, h, p, t, kv.Value)
	if slices.Equal(v.GetRules(), kv.Value.GetRules()) {
		return v, packetfilter.Metadata{Printed: c.fingerprint(v)}, nil
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
// programs print a rule in a form of their own; they show which one in an empty namespace.
func (r *retrieval) rules(ctx context.Context, h netlinkapi.Handle, p place, t table, v *ruleChain) []string {
	printed := t[p.chain].rules
	forms := v.GetRules()
	if len(printed) == len(forms) && !slices.EqualFunc(printed, forms, sameRule) {
		if tried := r.forms(ctx, h, p, t, v); len(tried) == len(forms) {
			forms = tried
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

// forms returns the rules of a value as the programs print them; nil if that is not known. It
// tries all chains of a table at once.
func (r *retrieval) forms(ctx context.Context, h netlinkapi.Handle, p place, t table, v *ruleChain) []string {
	s := source{h.Namespace().String(), p.table}
	if r.tried[s] == nil {
		r.tried[s] = r.try(ctx, h, p, t, r.beside(p, t, v))
	}
	if forms := r.tried[s][v]; forms != nil {
		return forms
	}
	return r.try(ctx, h, p, t, []*ruleChain{v})[v]
}

// beside returns the values with chains in a table whose printed form is not known, each chain
// once.
func (r *retrieval) beside(p place, t table, first *ruleChain) []*ruleChain {
	some, names := []*ruleChain{first}, map[string]bool{p.chain: true}
	for _, kv := range r.all {
		other := r.place(kv.Value)
		c := t[other.chain]
		if c == nil || names[other.chain] || other.table != p.table || !nsmodel.Equal(kv.Value.GetNamespace(), first.GetNamespace()) {
			continue
		}
		if names[other.chain] = true; kv.Metadata.Printed != c.fingerprint(kv.Value) {
			some = append(some, kv.Value)
		}
	}
	return some
}

// try makes chains in an empty namespace, and returns their rules as the programs print them.
func (r *retrieval) try(ctx context.Context, h netlinkapi.PacketFilter, p place, t table, some []*ruleChain) map[*ruleChain][]string {
	forms := map[*ruleChain][]string{}
	text, err := h.TryTable(ctx, p.table, append(declarations(t), r.declaredLines(some)...))
	if err != nil {
		r.Log.Debug("rules are compared as they are written", "table", p.table.Name, "chains", len(some), "error", err)
		return forms
	}
	tried := parseTable(text)
	for _, v := range some {
		if c := tried[r.place(v).chain]; c != nil {
			forms[v] = c.rules
		}
	}
	return forms
}

// declarations declares the chains of a table, which rules may jump to.
func declarations(t table) []string {
	var lines []string
	for _, name := range t.custom() {
		lines = append(lines, ":"+name+" - [0:0]")
	}
	return lines
}
