package nlsim

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func (h *handle) Rules() (rules []netlinkapi.Rule, err error) {
	err = h.k.read("Rules", func() error { rules = slices.Clone(h.ns.rules); return nil })
	return rules, err
}

func (h *handle) AddRule(r netlinkapi.Rule) error {
	return h.k.change("AddRule", func() error {
		if r.Table == 0 {
			return errInvalid
		}
		if slices.Contains(h.ns.rules, r) {
			return netlinkapi.ErrExists
		}
		h.ns.rules = append(h.ns.rules, r)
		return nil
	})
}

func (h *handle) DeleteRule(r netlinkapi.Rule) error {
	return h.k.change("DeleteRule", func() error {
		at := slices.Index(h.ns.rules, r)
		if at < 0 {
			return netlinkapi.ErrNotFound
		}
		h.ns.rules = slices.Delete(h.ns.rules, at, at+1)
		if r.Protocol == netlinkapi.ProtocolAgent {
			h.ns.notify(netlinkapi.Event{Kind: netlinkapi.RuleRemoved, Priority: r.Priority})
		}
		return nil
	})
}

// ChangeRules implements netlinkapi.Rules.
func (h *handle) ChangeRules(op netlinkapi.RouteOp, all []netlinkapi.Rule) []error {
	change := h.AddRule
	if op == netlinkapi.OpDelete {
		change = h.DeleteRule
	}
	errs := make([]error, len(all))
	for i, r := range all {
		errs[i] = change(r)
	}
	return errs
}
