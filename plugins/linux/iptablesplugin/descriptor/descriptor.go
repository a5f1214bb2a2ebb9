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
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// Name is the name of the descriptor.
const Name = "linux-ipt-rulechain-descriptor"

const (
	maxChainName = 28  // bytes, as iptables has it
	maxComment   = 200 // bytes; iptables has 255
)

type (
	ruleChain = iptables.RuleChain
	chainKV   = api.KV[*ruleChain, packetfilter.Metadata]
)

// New returns the descriptor linux-ipt-rulechain-descriptor.
func New(deps packetfilter.Deps) *api.KVDescriptor {
	d := chains{deps, &sync.Mutex{}}
	return api.Adapt(api.Describe(model.RuleChainModel, packetfilter.Describe(
		api.Descriptor[*ruleChain, packetfilter.Metadata]{Name: Name},
		packetfilter.Calls[*ruleChain]{
			Validate: validate, Same: sameRules, SamePlace: samePlace,
			Table: func(v *ruleChain) netlinkapi.NFTable { return d.place(v).table.NFTable() },
			Set:   d.set, Delete: d.delete, Batch: api.MaxBatch,
			Finder: func(all []chainKV) func(context.Context, chainKV) (*ruleChain, packetfilter.Metadata, error) {
				return (&retrieval{d, all, map[source]table{}, map[source]map[*ruleChain][]string{}}).find
			},
		})))
}

// chains are the rule chains of an agent.
type chains struct {
	packetfilter.Deps
	// mu is held while a table is read and changed.
	mu *sync.Mutex
}

func samePlace(a, b *ruleChain) bool {
	return nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) && a.GetProtocol() == b.GetProtocol() &&
		a.GetTable() == b.GetTable() && chains{}.place(a) == chains{}.place(b)
}

func sameRules(a, b *ruleChain) bool {
	return a.GetDefaultPolicy() == b.GetDefaultPolicy() && slices.EqualFunc(a.GetRules(), b.GetRules(), sameRule)
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

func validate(v *ruleChain) error {
	var errs []error
	if _, known := iptables.RuleChain_Protocol_name[int32(v.GetProtocol())]; !known {
		errs = append(errs, invalid("protocol", "%d; expected IPV4 or IPV6", v.GetProtocol()))
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

func ruleField(i int) string { return fmt.Sprintf("rules[%d]", i) }

// invalid is the error about one field of a value.
func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}
