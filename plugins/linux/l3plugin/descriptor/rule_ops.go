package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

type (
	ruleChange = api.BatchValue[*l3.Rule, RuleMetadata]
	ruleResult = api.BatchResult[RuleMetadata]
)

// create adds rules, namespace by namespace.
func (d rule) create(ctx context.Context, changes []ruleChange) []ruleResult {
	values := make([]*l3.Rule, len(changes))
	for i, c := range changes {
		values[i] = c.New
	}
	results := make([]ruleResult, len(changes))
	for i, err := range d.change(ctx, netlinkapi.OpAdd, d.Namespaces.Ensure, values) {
		results[i] = ruleResult{Metadata: ruleMetadata(values[i]), Err: explainRule(err)}
	}
	return results
}

// delete deletes rules, namespace by namespace.
func (d rule) delete(ctx context.Context, changes []ruleChange) []ruleResult {
	values := make([]*l3.Rule, len(changes))
	for i, c := range changes {
		values[i] = c.Old
	}
	results := make([]ruleResult, len(changes))
	for i, err := range d.change(ctx, netlinkapi.OpDelete, d.Namespaces.Open, values) {
		results[i].Err = ignoreGone(err)
	}
	return results
}

// change changes rules and returns one error per rule.
func (d rule) change(ctx context.Context, op netlinkapi.RouteOp, open opener, values []*l3.Rule) []error {
	errs := make([]error, len(values))
	spaces := map[string][]int{} // by the text of the namespace
	for i, v := range values {
		ns := nsmodel.Text(v.GetNamespace())
		spaces[ns] = append(spaces[ns], i)
	}
	for _, at := range spaces {
		rules := make([]netlinkapi.Rule, len(at))
		for n, i := range at {
			rules[n] = kernelRule(values[i])
		}
		h, err := open(ctx, values[at[0]].GetNamespace())
		if err != nil {
			for _, i := range at {
				errs[i] = err
			}
			continue
		}
		for n, err := range h.ChangeRules(ctx, op, rules) {
			errs[at[n]] = err
		}
		closeHandle(h)
	}
	return errs
}

func addRule(ctx context.Context, h netlinkapi.Handle, v *l3.Rule) error {
	return explainRule(h.AddRule(ctx, kernelRule(v)))
}

// explainRule explains why a rule cannot be added.
func explainRule(err error) error {
	if errors.Is(err, netlinkapi.ErrExists) {
		return fmt.Errorf("another item has the same rule in the namespace: %w", err)
	}
	return err
}
