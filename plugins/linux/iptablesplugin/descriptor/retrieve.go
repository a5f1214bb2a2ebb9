package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// A value is looked for where it says that it is: the kernel does not know which values
// there are. Each table of each namespace is read once.

// retrieval is one reading of the tables.
type retrieval struct {
	Deps
	read map[source]table // nil: not there
}

type source struct {
	namespace string
	table     netlinkapi.FilterTable
}

func (d Deps) retrieve(ctx context.Context, correlate []chainKV) ([]chainKV, error) {
	r := retrieval{d, map[source]table{}}
	at := map[string]int{} // key to its place in found
	var found []chainKV
	for _, kv := range correlate {
		i, again := at[kv.Key]
		if again && sameChain(kv.Key, found[i].Value, kv.Value) {
			continue
		}
		value, meta, err := r.find(ctx, kv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kv.Value.GetName(), err)
		}
		switch {
		case value == nil:
		case !again:
			at[kv.Key] = len(found)
			found = append(found, chainKV{Key: kv.Key, Value: value, Metadata: meta, Origin: api.FromNB})
		case sameChain(kv.Key, value, kv.Value):
			found[i].Value, found[i].Metadata = value, meta
		}
	}
	return found, nil
}

// find reads one value; nil if it is not there.
func (r *retrieval) find(ctx context.Context, kv chainKV) (*ruleChain, Metadata, error) {
	none := Metadata{}
	h, err := r.Namespaces.Open(ctx, kv.Value.GetNamespace())
	if err != nil {
		return nil, none, r.ignoreUnreadable(kv.Value, err)
	}
	defer closeHandle(h)
	p := r.place(kv.Value)
	t, err := r.table(ctx, h, p.table)
	if err != nil {
		return nil, none, r.ignoreUnreadable(kv.Value, err)
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
		return v, Metadata{Printed: c.fingerprint()}, nil
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

// ignoreUnreadable makes what cannot have a chain of ours nothing: a namespace that is gone
// or closed to the agent, and a host without the programs.
func (r *retrieval) ignoreUnreadable(v *ruleChain, err error) error {
	switch {
	case netlinkapi.IsGone(err), errors.Is(err, netlinkapi.ErrNoProgram), errors.Is(err, netlinkapi.ErrUnsupported):
		return nil
	case errors.Is(err, netlinkapi.ErrPermission):
		r.Log.Debug("packet filter not read", "namespace", nsmodel.Text(v.GetNamespace()), "error", err)
		return nil
	}
	return err
}
