package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// A policy rule says in which table packets look for their route. The kernel identifies
// rules by all their fields, including their creator: rules of the agent carry its protocol
// number, and the agent leaves others alone. A rule cannot be changed: the new one is added
// before the old one is deleted, so that one of them is always there.

// RuleName is the name of the descriptor of policy rules.
const RuleName = "linux-rule"

const allBits = 1<<32 - 1

type rule struct{ Deps }

type ruleKV = api.KV[*l3.Rule, RuleMetadata]

// RuleMetadata says where a rule is.
type RuleMetadata struct {
	Namespace *namespace.NetNamespace // nil: the agent's own
	Priority  uint32
}

// RulesByPriority finds rules by their place; see RulePlaceIn.
var RulesByPriority = idxmap.Index[RuleMetadata, RulePlace]{
	Name: "priority",
	Keys: func(m RuleMetadata) []RulePlace { return []RulePlace{RulePlaceIn(m.Namespace, m.Priority)} },
}

// RulePlace is a priority in a namespace.
type RulePlace struct {
	namespace string
	priority  uint32
}

// RulePlaceIn returns the key in RulesByPriority of a priority in a namespace; nil is the agent's
// own.
func RulePlaceIn(ns *namespace.NetNamespace, priority uint32) RulePlace {
	return RulePlace{nsmodel.Text(ns), priority}
}

func ruleMetadata(v *l3.Rule) RuleMetadata {
	return RuleMetadata{Namespace: v.GetNamespace(), Priority: v.GetPriority()}
}

// NewRule returns the descriptor linux-rule.
func NewRule(deps Deps) *api.KVDescriptor {
	d := rule{deps}
	return api.Adapt(api.Describe(l3model.RuleModel, api.Descriptor[*l3.Rule, RuleMetadata]{
		Name:         RuleName,
		Southbound:   nsmodel.Southbound,
		WithMetadata: true,
		ValueComparator: func(_ string, a, b *l3.Rule) bool {
			return a.GetName() == b.GetName() && nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) && kernelRule(a) == kernelRule(b)
		},
		Validate:     validateRule,
		Dependencies: func(_ string, v *l3.Rule) []api.Dependency { return nsmodel.Dependencies(v.GetNamespace()) },
		Identities: func(_ string, v *l3.Rule) []string {
			return []string{fmt.Sprintf("rule/%s/%v", nsmodel.Text(v.GetNamespace()), kernelRule(v))}
		},
		UpdateWithRecreate: func(_ string, a, b *l3.Rule, _ RuleMetadata) bool {
			return !nsmodel.Equal(a.GetNamespace(), b.GetNamespace())
		},
		CreateBatch:          d.create,
		UpdateContext:        d.update,
		DeleteBatch:          d.delete,
		Concurrency:          api.MaxBatch,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: []string{nsmodel.MicroserviceDescriptor},
		ConcurrentRetrieve:   true,
	}))
}

func validateRule(_ string, v *l3.Rule) error {
	var errs []error
	if err := nsmodel.Validate(v.GetNamespace()); err != nil {
		errs = append(errs, invalid("namespace", "%w", err))
	}
	if mask := v.GetFwmask(); mask != 0 && v.GetFwmark()&^mask != 0 {
		errs = append(errs, invalid("fwmark", "%#x has bits that are not in fwmask %#x", v.GetFwmark(), mask))
	}
	return errors.Join(append(errs, validateNetworks(v))...)
}

// validateNetworks checks what decides on the version of IP.
func validateNetworks(v *l3.Rule) error {
	src, srcErr := ruleNetwork("src_network", v.GetSrcNetwork())
	dst, dstErr := ruleNetwork("dst_network", v.GetDstNetwork())
	errs := []error{srcErr, dstErr}
	switch {
	case src.IsValid() && dst.IsValid() && src.Addr().Is4() != dst.Addr().Is4():
		errs = append(errs, invalid("dst_network", "%s is not of the IP version of src_network %s", dst, src))
	case v.GetIpv6() && (src.IsValid() && src.Addr().Is4() || dst.IsValid() && dst.Addr().Is4()):
		errs = append(errs, invalid("ipv6", "not allowed with an IPv4 network"))
	}
	return errors.Join(errs...)
}

// ruleNetwork parses a network; invalid if it is empty.
func ruleNetwork(field, text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	p, _ := netip.ParsePrefix(text) // its annotation was checked
	switch {
	case p != p.Masked():
		return p, invalid(field, "%q has host bits; expected %s", text, p.Masked())
	case p.Addr().Is4In6():
		return p, invalid(field, "%q is an IPv4-mapped network; expected the one of IPv4, such as 10.0.0.0/24", text)
	case p.Bits() == 0:
		return p, invalid(field, "%q; expected nothing for any address", text)
	}
	return p, nil
}

// kernelRule converts a value that was validated.
func kernelRule(v *l3.Rule) netlinkapi.Rule {
	src, _ := ruleNetwork("", v.GetSrcNetwork()) // invalid if there is none
	dst, _ := ruleNetwork("", v.GetDstNetwork())
	r := netlinkapi.Rule{
		IPv6:     v.GetIpv6() || src.IsValid() && src.Addr().Is6() || dst.IsValid() && dst.Addr().Is6(),
		Priority: v.GetPriority(), Src: src, Dst: dst, Mark: v.GetFwmark(), Mask: v.GetFwmask(),
		Invert: v.GetInvert(), Table: v.GetTable(), Protocol: netlinkapi.ProtocolAgent,
	}
	if r.Mark != 0 && r.Mask == 0 {
		r.Mask = allBits
	}
	return r
}

// ruleValue is the inverse of kernelRule, for a rule that no value is known for. The name
// says what it does.
func ruleValue(r netlinkapi.Rule, ns *namespace.NetNamespace) *l3.Rule {
	v := &l3.Rule{
		Namespace: ns, Ipv6: r.IPv6, Priority: r.Priority, Fwmark: r.Mark, Fwmask: r.Mask, Invert: r.Invert, Table: r.Table,
	}
	if r.Src.IsValid() {
		v.SrcNetwork = r.Src.String()
	}
	if r.Dst.IsValid() {
		v.DstNetwork = r.Dst.String()
	}
	v.Name = fmt.Sprintf("unknown rule in %s: %d from %q to %q mark %#x/%#x table %d IPv6 %t invert %t", nsmodel.Text(ns),
		r.Priority, v.SrcNetwork, v.DstNetwork, r.Mark, r.Mask, r.Table, r.IPv6, r.Invert)
	return v
}

func (d rule) update(ctx context.Context, _ string, before, v *l3.Rule, meta RuleMetadata) (RuleMetadata, error) {
	h, err := d.Namespaces.Open(ctx, v.GetNamespace())
	if err != nil {
		return meta, err
	}
	defer closeHandle(h)
	if err := addRule(ctx, h, v); err != nil {
		return meta, err
	}
	if err := h.DeleteRule(ctx, kernelRule(before)); ignoreGone(err) != nil {
		return meta, errors.Join(err, h.DeleteRule(context.WithoutCancel(ctx), kernelRule(v)))
	}
	return ruleMetadata(v), nil
}

// retrieve reads the rules of all namespaces that may have some.
func (d rule) retrieve(ctx context.Context, correlate []ruleKV) ([]ruleKV, error) {
	r := ruleRetrieval{rule: d}
	var namespaces []*namespace.NetNamespace
	for _, kv := range correlate {
		r.wanted, namespaces = append(r.wanted, kv.Value), append(namespaces, kv.Value.GetNamespace())
	}
	err := d.visitAll(ctx, namespaces, func(ns *namespace.NetNamespace, h netlinkapi.Handle) error { return r.read(ctx, ns, h) })
	return r.found, err
}

// ruleRetrieval is what was read so far.
type ruleRetrieval struct {
	rule
	wanted []*l3.Rule
	found  []ruleKV
}

func (r *ruleRetrieval) read(ctx context.Context, ns *namespace.NetNamespace, h netlinkapi.Handle) error {
	rules, err := h.Rules(ctx)
	if err != nil {
		return err
	}
	for _, kernel := range rules {
		if kernel.Protocol != netlinkapi.ProtocolAgent {
			continue
		}
		v := r.match(ctx, kernel, h.Namespace())
		if v == nil {
			v = ruleValue(kernel, ns)
		}
		r.found = append(r.found, ruleKV{Key: l3model.RuleModel.Key(v), Value: v, Metadata: ruleMetadata(v), Origin: api.FromNB})
	}
	return nil
}

// match returns the value that has the rule; nil if there is none. Each value is returned
// once.
func (r *ruleRetrieval) match(ctx context.Context, kernel netlinkapi.Rule, at netlinkapi.NamespaceID) *l3.Rule {
	i := slices.IndexFunc(r.wanted, func(v *l3.Rule) bool {
		return kernelRule(v) == kernel && r.leads(ctx, v.GetNamespace(), at)
	})
	if i < 0 {
		return nil
	}
	v := r.wanted[i]
	r.wanted = slices.Delete(r.wanted, i, i+1)
	return v
}

// leads reports whether a reference is to the namespace.
func (r *ruleRetrieval) leads(ctx context.Context, ns *namespace.NetNamespace, at netlinkapi.NamespaceID) bool {
	h, err := r.Namespaces.Open(ctx, ns)
	if err != nil {
		return false
	}
	defer closeHandle(h)
	return h.Namespace() == at
}

func (d rule) retrieveValue(ctx context.Context, _ string, last *l3.Rule, meta RuleMetadata) (*l3.Rule, RuleMetadata, bool, error) {
	h, err := d.Namespaces.Open(ctx, last.GetNamespace())
	if err != nil {
		return nil, meta, false, ignoreGone(err)
	}
	defer closeHandle(h)
	rules, err := h.Rules(ctx)
	if err != nil {
		return nil, meta, false, err
	}
	return last, ruleMetadata(last), slices.Contains(rules, kernelRule(last)), nil
}
