// Package descriptor teaches the scheduler rule chains of iptables and ip6tables.
//
// A CUSTOM chain is the agent's alone. In a built-in chain the agent owns one rule, the
// first: a jump to a chain with the rules of the value. So the rules of others stay, and
// what a value has is replaced at once. The comment of the jump remembers the policy
// that the chain had before; it returns with the deletion, also after a restart.
package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Name is the name of the descriptor.
const Name = "linux-ipt-rulechain-descriptor"

const (
	interfaceExists = "interface-exists-" // label of a dependency, before the interface
	maxChainName    = 28                  // bytes, as iptables has it
	maxComment      = 200                 // bytes; iptables has 255
)

// Deps is what the descriptor needs.
type Deps struct {
	// Namespaces opens network namespaces.
	Namespaces Namespaces
	// Label is the label of the agent; agents with different labels may share a namespace.
	Label string
	// Log receives what a callback cannot return.
	Log logging.Logger
}

// Namespaces opens network namespaces; see nsplugin.API.
type Namespaces interface {
	Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Ensure(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
}

// Metadata is what is known of a chain beside its value.
type Metadata struct {
	// Printed identifies the rules as iptables-save printed them when they were those of
	// the value; empty: not known.
	Printed string
}

type (
	ruleChain = iptables.RuleChain
	chainKV   = api.KV[*ruleChain, Metadata]
)

// New returns the descriptor linux-ipt-rulechain-descriptor.
func New(deps Deps) *api.KVDescriptor {
	d := deps
	return api.Adapt(api.Describe(model.RuleChainModel, api.Descriptor[*ruleChain, Metadata]{
		Name:            Name,
		Southbound:      nsmodel.Southbound,
		WithMetadata:    true,
		ValueComparator: sameChain,
		Validate:        validate,
		Dependencies:    dependencies,
		CreateContext:   func(ctx context.Context, _ string, v *ruleChain) (Metadata, error) { return d.set(ctx, v) },
		UpdateContext: func(ctx context.Context, _ string, _, v *ruleChain, _ Metadata) (Metadata, error) {
			return d.set(ctx, v)
		},
		UpdateWithRecreate:   func(_ string, a, b *ruleChain, _ Metadata) bool { return !samePlace(a, b) },
		DeleteContext:        func(ctx context.Context, _ string, v *ruleChain, _ Metadata) error { return d.delete(ctx, v) },
		RetrieveContext:      d.retrieve,
		ConcurrentRetrieve:   true,
		RetrieveDependencies: []string{nsmodel.MicroserviceDescriptor},
	}))
}

func samePlace(a, b *ruleChain) bool {
	return nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) && a.GetProtocol() == b.GetProtocol() &&
		a.GetTable() == b.GetTable() && Deps{}.place(a) == Deps{}.place(b)
}

func sameChain(_ string, a, b *ruleChain) bool {
	return samePlace(a, b) && a.GetDefaultPolicy() == b.GetDefaultPolicy() &&
		slices.Equal(a.GetInterfaces(), b.GetInterfaces()) && slices.EqualFunc(a.GetRules(), b.GetRules(), sameRule)
}

// hooks are the built-in chains of the tables.
var hooks = map[iptables.RuleChain_Table][]iptables.RuleChain_ChainType{
	iptables.RuleChain_FILTER: {iptables.RuleChain_INPUT, iptables.RuleChain_OUTPUT, iptables.RuleChain_FORWARD},
	iptables.RuleChain_NAT: {iptables.RuleChain_INPUT, iptables.RuleChain_OUTPUT, iptables.RuleChain_PREROUTING,
		iptables.RuleChain_POSTROUTING},
	iptables.RuleChain_MANGLE: {iptables.RuleChain_INPUT, iptables.RuleChain_OUTPUT, iptables.RuleChain_FORWARD,
		iptables.RuleChain_PREROUTING, iptables.RuleChain_POSTROUTING},
	iptables.RuleChain_RAW:      {iptables.RuleChain_OUTPUT, iptables.RuleChain_PREROUTING},
	iptables.RuleChain_SECURITY: {iptables.RuleChain_INPUT, iptables.RuleChain_OUTPUT, iptables.RuleChain_FORWARD},
}

func validate(_ string, v *ruleChain) error {
	var errs []error
	if err := nsmodel.Validate(v.GetNamespace()); err != nil {
		errs = append(errs, invalid("namespace", "%w", err))
	}
	if _, known := iptables.RuleChain_Protocol_name[int32(v.GetProtocol())]; !known {
		errs = append(errs, invalid("protocol", "%d; expected IPV4 or IPV6", v.GetProtocol()))
	}
	for i, iface := range v.GetInterfaces() {
		switch {
		case iface == "":
			errs = append(errs, invalid(fmt.Sprintf("interfaces[%d]", i), "empty; expected the name of an interface"))
		case slices.Index(v.GetInterfaces(), iface) < i:
			errs = append(errs, invalid(fmt.Sprintf("interfaces[%d]", i), "%q again; expected each interface once", iface))
		}
	}
	for i, rule := range v.GetRules() {
		if _, err := splitRule(rule); err != nil {
			errs = append(errs, invalid(ruleField(i), "%q: %w", rule, err))
		}
	}
	return errors.Join(append(errs, checkPlace(v), checkPolicy(v))...)
}

func checkPlace(v *ruleChain) error {
	allowed := hooks[v.GetTable()]
	if allowed == nil {
		return invalid("table", "%d; expected FILTER, NAT, MANGLE, RAW or SECURITY", v.GetTable())
	}
	if v.GetChainType() == iptables.RuleChain_CUSTOM {
		if err := checkChainName(v.GetChainName()); err != nil {
			return invalid("chain_name", "%w", err)
		}
		return nil
	}
	if !slices.Contains(allowed, v.GetChainType()) {
		return invalid("chain_type", "%s is not in the table %s; expected CUSTOM or one of %v", v.GetChainType(), v.GetTable(), allowed)
	}
	return nil
}

func checkChainName(name string) error {
	_, builtin := iptables.RuleChain_ChainType_value[name]
	switch {
	case name == "":
		return errors.New("empty; expected the name of the chain, because chain_type is CUSTOM")
	case len(name) > maxChainName:
		return fmt.Errorf("%q has %d bytes; expected at most %d", name, len(name), maxChainName)
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, "!") || strings.ContainsFunc(name, notInName):
		return fmt.Errorf("%q; expected letters, digits and punctuation other than quotes, and no - or ! at the beginning", name)
	case builtin && name != iptables.RuleChain_CUSTOM.String():
		return fmt.Errorf("%q is a built-in chain; chain_type selects those", name)
	}
	return nil
}

func notInName(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'\\", r) }

func checkPolicy(v *ruleChain) error {
	_, known := iptables.RuleChain_Policy_name[int32(v.GetDefaultPolicy())]
	switch {
	case !known:
		return invalid("default_policy", "%d; expected NONE, ACCEPT or DROP", v.GetDefaultPolicy())
	case v.GetDefaultPolicy() == iptables.RuleChain_NONE:
	case v.GetChainType() == iptables.RuleChain_CUSTOM:
		return invalid("default_policy", "%s; expected NONE, because only built-in chains have a policy", v.GetDefaultPolicy())
	case v.GetTable() != iptables.RuleChain_FILTER:
		return invalid("default_policy", "%s; expected NONE, because only chains of FILTER get a policy", v.GetDefaultPolicy())
	}
	return nil
}

func dependencies(_ string, v *ruleChain) []api.Dependency {
	deps := nsmodel.Dependencies(v.GetNamespace())
	for _, iface := range v.GetInterfaces() {
		deps = append(deps, api.Dependency{
			Label: interfaceExists + iface, Key: ifmodel.InterfaceModel.Key(&interfaces.Interface{Name: iface}),
		})
	}
	return deps
}

func ruleField(i int) string { return fmt.Sprintf("rules[%d]", i) }

// invalid is the error about one field of a value.
func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}
