package nlsim

import (
	"context"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func (h *handle) Rules(ctx context.Context) (rules []netlinkapi.Rule, err error) {
	err = h.read(ctx, "Rules", func() error { rules = slices.Clone(h.ns.rules); return nil })
	return rules, err
}

func (h *handle) AddRule(ctx context.Context, r netlinkapi.Rule) error {
	return h.change(ctx, "AddRule", func() error {
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

func (h *handle) DeleteRule(ctx context.Context, r netlinkapi.Rule) error {
	return h.change(ctx, "DeleteRule", func() error {
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
func (h *handle) ChangeRules(ctx context.Context, op netlinkapi.RouteOp, all []netlinkapi.Rule) []error {
	change := h.AddRule
	if op == netlinkapi.OpDelete {
		change = h.DeleteRule
	}
	errs := make([]error, len(all))
	for i, r := range all {
		errs[i] = change(ctx, r)
	}
	return errs
}
