package stnplugin

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/stn"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	stnproto "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
)

// RuleName is the name of the descriptor.
const RuleName = "vpp-stn-rules"

var rules = session.Require("STN rule", "stn", &stn.StnAddDelRule{}, &stn.StnAddDelRuleReply{},
	&stn.StnRulesDump{}, &stn.StnRulesDetails{})

// rule is a rule as VPP has it. Adding one does not set IsAdd.
type rule = stn.StnAddDelRule

// NewRule describes rules. VPP has one rule per address: a packet to it that VPP would hand to
// the host leaves through the interface. VPP does not look whether the interface exists, nor
// does the rule go with it, so it must go before.
func NewRule(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewSet(vpp, ifs, item.Set[*stnproto.Rule, rule, rule]{
		Name: RuleName, Model: RuleModel, Fields: "ip_address",
		Resolve: func(r *item.Resolver, v *stnproto.Rule) []rule {
			return []rule{{IPAddress: r.HostOf("ip_address", v.GetIpAddress()), SwIfIndex: r.Interface("interface", v.GetInterface())}}
		},
		ID:      func(e rule) rule { return rule{IPAddress: e.IPAddress} },
		Belongs: func(a, b rule) bool { return a == b },
		Value: func(n *item.Names, _, found []rule) *stnproto.Rule {
			return &stnproto.Rule{IpAddress: item.Addr(found[0].IPAddress), Interface: n.Interface(found[0].SwIfIndex)}
		},
		Table: item.Table[rule]{
			Add: func(ctx context.Context, e rule) (kvs.Metadata, error) { return nil, change(ctx, vpp, e, true) },
			Remove: func(ctx context.Context, e rule) error {
				if err := change(ctx, vpp, e, false); !session.Gone(err, api.NO_SUCH_ENTRY) {
					return err
				}
				return nil
			},
			All: func(ctx context.Context) (all []rule, err error) {
				found, err := session.DumpOf[*stn.StnRulesDetails](ctx, vpp, rules, &stn.StnRulesDump{})
				for _, d := range found {
					all = append(all, rule{IPAddress: d.IPAddress, SwIfIndex: d.SwIfIndex})
				}
				return all, err
			},
		},
	})
}

func change(ctx context.Context, vpp *session.VPP, e rule, add bool) error {
	if err := rules.Check(vpp); err != nil {
		return err
	}
	e.IsAdd = add
	return vpp.Call(ctx, &e, &stn.StnAddDelRuleReply{})
}
