package kernel

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func (h *handle) Rules() ([]netlinkapi.Rule, error) {
	var rules []netlinkapi.Rule
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		found, err := dump("list policy rules", func() ([]netlink.Rule, error) { return h.ns.route.RuleList(family) })
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if rule, ok := convertRule(r, family); ok {
				rules = append(rules, rule)
			}
		}
	}
	return rules, nil
}

// convertRule returns false for a rule that has more than the fields of netlinkapi.Rule.
func convertRule(r netlink.Rule, family int) (netlinkapi.Rule, bool) {
	bare := *netlink.NewRule()
	bare.Priority, bare.Family, bare.Table, bare.Mark, bare.Mask = r.Priority, r.Family, r.Table, r.Mark, r.Mask
	bare.Src, bare.Dst, bare.Invert, bare.Protocol = r.Src, r.Dst, r.Invert, r.Protocol
	if r != bare || r.Table <= 0 {
		return netlinkapi.Rule{}, false
	}
	rule := netlinkapi.Rule{
		IPv6: family == netlink.FAMILY_V6, Priority: uint32(r.Priority), Mark: r.Mark, Invert: r.Invert,
		Table: uint32(r.Table), Protocol: netlinkapi.Protocol(r.Protocol),
	}
	rule.Src, _ = prefix(r.Src)
	rule.Dst, _ = prefix(r.Dst)
	if r.Mask != nil {
		rule.Mask = *r.Mask
	}
	return rule, true
}

func (h *handle) AddRule(r netlinkapi.Rule) error {
	return classify(fmt.Sprintf("add policy rule %d", r.Priority), h.ns.route.RuleAdd(rule(r)))
}

func (h *handle) DeleteRule(r netlinkapi.Rule) error {
	return classify(fmt.Sprintf("delete policy rule %d", r.Priority), h.ns.route.RuleDel(rule(r)))
}

func rule(r netlinkapi.Rule) *netlink.Rule {
	kr := netlink.NewRule()
	kr.Family = netlink.FAMILY_V4
	if r.IPv6 {
		kr.Family = netlink.FAMILY_V6
	}
	kr.Priority, kr.Mark, kr.Invert, kr.Protocol = int(r.Priority), r.Mark, r.Invert, uint8(r.Protocol)
	kr.Table = int(r.Table)
	if r.Src.IsValid() {
		kr.Src = ipNet(r.Src)
	}
	if r.Dst.IsValid() {
		kr.Dst = ipNet(r.Dst)
	}
	if r.Mark != 0 || r.Mask != 0 {
		kr.Mask = &r.Mask
	}
	return kr
}
