package kernel

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func (h *handle) Rules(ctx context.Context) ([]netlinkapi.Rule, error) {
	return ask(ctx, h.lease, h.ns.rules)
}

func (ns *namespace) rules() (rules []netlinkapi.Rule, err error) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		found, err := readAll("list policy rules", func() ([]netlink.Rule, error) { return ns.route.RuleList(family) })
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

func (h *handle) AddRule(ctx context.Context, r netlinkapi.Rule) error {
	return h.ChangeRules(ctx, netlinkapi.OpAdd, []netlinkapi.Rule{r})[0]
}

func (h *handle) DeleteRule(ctx context.Context, r netlinkapi.Rule) error {
	return h.ChangeRules(ctx, netlinkapi.OpDelete, []netlinkapi.Rule{r})[0]
}

// ChangeRules changes several rules; see netlinkapi.Rules.
func (h *handle) ChangeRules(ctx context.Context, op netlinkapi.RouteOp, all []netlinkapi.Rule) []error {
	return h.gate.PassAll(ctx, len(all), func() []error {
		requests := make([]request, len(all))
		for i, r := range all {
			requests[i] = ruleRequest(op, r)
		}
		errs := h.ns.exchange(requests)
		for i, err := range errs {
			errs[i] = classify(fmt.Sprintf("%s policy rule %d", op, all[i].Priority), err)
		}
		return errs
	})
}

// ruleRequest encodes a change of a rule.
func ruleRequest(op netlinkapi.RouteOp, r netlinkapi.Rule) request {
	header := []byte{0: unix.AF_INET, 4: uint8(r.Table), 7: unix.FR_ACT_TO_TBL, 11: 0}
	if r.IPv6 {
		header[0] = unix.AF_INET6
	}
	if r.Table > 255 {
		header[4] = unix.RT_TABLE_UNSPEC
	}
	if r.Invert {
		binary.NativeEndian.PutUint32(header[8:], unix.FIB_RULE_INVERT)
	}
	if r.Dst.IsValid() {
		header[1] = uint8(r.Dst.Bits())
	}
	if r.Src.IsValid() {
		header[2] = uint8(r.Src.Bits())
	}
	kind, flags := unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL
	if op == netlinkapi.OpDelete {
		kind, flags = unix.RTM_DELRULE, 0
	}
	m := newRequest(kind, flags, header)
	if r.Dst.IsValid() {
		m.add(unix.FRA_DST, r.Dst.Addr().AsSlice())
	}
	if r.Src.IsValid() {
		m.add(unix.FRA_SRC, r.Src.Addr().AsSlice())
	}
	m.add(unix.FRA_PRIORITY, u32(r.Priority))
	m.add(unix.FRA_TABLE, u32(r.Table))
	if r.Mark != 0 || r.Mask != 0 {
		m.add(unix.FRA_FWMARK, u32(r.Mark))
		m.add(unix.FRA_FWMASK, u32(r.Mask))
	}
	m.add(unix.FRA_PROTOCOL, []byte{uint8(r.Protocol)})
	return m
}
