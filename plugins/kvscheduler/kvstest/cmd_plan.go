package kvstest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// cmdPlan prints what a commit of the same arguments would do, and why some of
// it would have no effect yet, and saves the plan for apply.
func cmdPlan(r *Run, args []string) (string, error) {
	txn, opts, err := r.transaction(args)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	plan, err := txn.Plan(r.T.Context(), opts...)
	if plan != nil {
		for i := range plan.Operations {
			text.WriteString(operation(&plan.Operations[i]))
		}
		for _, reason := range plan.Reasons {
			fmt.Fprintf(&text, "%s: %s\n", reason.Key, reason.Reason)
		}
		sealed, serr := api.SealPlan(plan)
		if serr != nil {
			return "", serr
		}
		r.plan = sealed
	}
	r.printError(&text, err)
	return text.String(), nil
}

// cmdPlanItems prints what a commit of the same arguments would do by item.
func cmdPlanItems(r *Run, args []string) (string, error) {
	txn, opts, err := r.transaction(args)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	plan, err := txn.Plan(r.T.Context(), opts...)
	if plan != nil {
		items := plan.ByItem(0, nil).List
		api.DescribeItems(items)
		writeItems(&text, items)
	}
	r.printError(&text, err)
	return text.String(), nil
}

// cmdHistoryItems prints what the last transaction did by item.
func cmdHistoryItems(r *Run, _ []string) (string, error) {
	history := r.Scheduler.GetTransactionHistory(time.Time{}, time.Time{})
	if len(history) == 0 {
		return "", errors.New("the history is empty")
	}
	var text strings.Builder
	items := history[len(history)-1].ByItem(0).List
	api.DescribeItems(items)
	writeItems(&text, items)
	return text.String(), nil
}

// writeItems writes items with their changed fields and their parts.
func writeItems(text *strings.Builder, items []api.PlanItem) {
	line := func(indent string, kind api.StepKind, key, reason string, because *api.PlanCause) {
		fmt.Fprintf(text, "%s%s %s", indent, kind, key)
		if reason != "" {
			text.WriteString(": " + reason)
		}
		if because != nil {
			text.WriteString(" # because " + because.Text())
		}
		text.WriteString("\n")
	}
	for _, it := range items {
		line("", it.Kind, it.Key, it.Reason, it.Because)
		for _, f := range it.Fields {
			fmt.Fprintf(text, "  %s %s", f.Kind, f.Path)
			if f.Forces {
				text.WriteString(" # forces re-creation")
			}
			text.WriteString("\n")
		}
		for _, p := range it.Parts {
			line("  ", p.Kind, p.Key, p.Reason, p.Because)
		}
		if it.Following > 0 {
			fmt.Fprintf(text, "  %d more wait for these\n", it.Following)
		}
	}
}

// cmdApply applies the plan that was saved last: apply [--revert] [--verify].
func cmdApply(r *Run, args []string) (string, error) {
	flags, rest := options(args)
	if len(rest) > 0 || r.plan == nil {
		return "", errors.New("expected options only, after plan")
	}
	opts, err := txnOptions(flags)
	if err != nil {
		return "", err
	}
	var plan api.Plan
	if err := api.OpenPlan(r.plan, &plan); err != nil {
		return "", err
	}
	_, err = r.Scheduler.Apply(r.T.Context(), &plan, opts...)
	r.Scheduler.TransactionBarrier()
	var text strings.Builder
	text.WriteString(r.news(api.NBTransaction))
	r.printError(&text, err)
	return text.String(), nil
}
