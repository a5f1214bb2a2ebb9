package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// newFactory returns a factory that asks no agent, and its output.
func newFactory() (f *cmdutil.Factory, out *strings.Builder) {
	out = &strings.Builder{}
	return cmdutil.NewFactory(output.Streams{Out: out, Err: out}, config.NoEnviron, time.Now, output.Terminal{}), out
}

// The legend of a plan is broken between its parts.
func TestLegendFits(t *testing.T) {
	t.Parallel()
	if got := fitted(effects.Legend, 0); got != effects.Legend {
		t.Errorf("without a limit: %q", got)
	}
	got := fitted(effects.Legend, 80)
	for line := range strings.Lines(got) {
		if n := output.Width(line); n > 81 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if strings.ReplaceAll(got, "\n", output.ColumnGap) != effects.Legend {
		t.Errorf("printed %q", got)
	}
}

// A large plan shows the first items of each kind, and counts all.
func TestLargePlan(t *testing.T) {
	t.Parallel()
	var ops []api.RecordedTxnOp
	for i := range 300 {
		ops = append(ops,
			api.RecordedTxnOp{Operation: kvscheduler.TxnOperation_CREATE, Key: fmt.Sprintf("config/vpp/v2/interfaces/a%d", i), NewState: kvscheduler.ValueState_CONFIGURED},
			api.RecordedTxnOp{Operation: kvscheduler.TxnOperation_DELETE, Key: fmt.Sprintf("config/vpp/v2/interfaces/b%d", i), PrevState: kvscheduler.ValueState_CONFIGURED})
	}
	p := &shownPlan{Changes: &api.Plan{Operations: ops}}
	for perKind, hidden := range map[uint]string{50: "and 500 more items; --all shows them\n", 0: ""} {
		f, out := newFactory()
		infratest.Fatal(t, printPlan(f, p, planView{perKind: perKind}))
		shown := strings.Count(out.String(), "  + vpp.interfaces/a")
		if want := int(perKind); perKind > 0 && shown != want || perKind == 0 && shown != 300 {
			t.Errorf("limit %d: %d creates shown", perKind, shown)
		}
		if !strings.Contains(out.String(), "600 items to change (600 operations): 300 to create, 300 to delete") || hidden != "" != strings.Contains(out.String(), "more items") || !strings.Contains(out.String(), hidden) {
			t.Errorf("limit %d: printed\n%s", perKind, out.String()[len(out.String())-200:])
		}
	}
}

// A value that waits and is no longer configured is not removed from anywhere.
func TestPlanOfWhatWaits(t *testing.T) {
	t.Parallel()
	f, out := newFactory()
	gone := api.RecordedTxnOp{
		Operation: kvscheduler.TxnOperation_DELETE, Key: "route/1", NOOP: true,
		PrevState: kvscheduler.ValueState_PENDING, NewState: kvscheduler.ValueState_REMOVED,
	}
	invalid := gone
	invalid.Key, invalid.PrevState = "route/2", kvscheduler.ValueState_INVALID
	infratest.Fatal(t, printPlan(f, &shownPlan{Changes: &api.Plan{Operations: []api.RecordedTxnOp{gone, invalid}}}, planView{}))
	for _, want := range []string{"  x route/1: it does not exist\n", "  x route/2: it does not exist\n", "\n2 items no longer configured\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// What stays as it is, with or without an operation for that, is shown with the
// reason and without artificial differences.
func TestPlanOfWhatStays(t *testing.T) {
	t.Parallel()
	f, out := newFactory()
	observed := api.RecordedTxnOp{
		Operation: kvscheduler.TxnOperation_UPDATE, Key: "link/1", NOOP: true,
		PrevState: kvscheduler.ValueState_OBTAINED, NewState: kvscheduler.ValueState_CONFIGURED,
	}
	err := printPlan(f, &shownPlan{Changes: &api.Plan{
		Operations: []api.RecordedTxnOp{observed},
		Reasons:    []api.PlanReason{{Key: "link/1", Reason: "observed"}, {Key: "tap/1", Reason: "adopted"}},
	}}, planView{})
	if want := effects.Legend + "\n\n  = link/1: observed\n  = tap/1: adopted\n\n2 items left as is\n"; err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A hidden secret that forces a re-creation is named although it looks the same.
func TestPlanOfForcingSecret(t *testing.T) {
	t.Parallel()
	f, out := newFactory()
	memif := func(id uint32) *interfaces.Interface {
		return &interfaces.Interface{Name: "m", Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: id, Secret: "***"}}}
	}
	const key = "config/vpp/v2/interfaces/m"
	err := printPlan(f, &shownPlan{Changes: &api.Plan{
		Operations: []api.RecordedTxnOp{
			{Operation: kvscheduler.TxnOperation_DELETE, Key: key, PrevState: kvscheduler.ValueState_CONFIGURED, PrevValue: memif(1), IsRecreate: true},
			{Operation: kvscheduler.TxnOperation_CREATE, Key: key, NewState: kvscheduler.ValueState_CONFIGURED, NewValue: memif(2), IsRecreate: true},
		},
		Forced: map[string][]string{key: {"memif.secret"}}, Secrets: map[string][]string{key: {"memif.secret"}}, Hidden: true,
	}}, planView{})
	want := effects.Legend + "\n\n-/+ vpp.interfaces/m\n      ~ memif.id: 1 -> 2\n      ~ memif.secret: a secret differs  # forces re-creation\n\n1 item to create again (2 operations)\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A rule whose fields have default values is shown, as it denies everything.
func TestPlanOfDefaults(t *testing.T) {
	t.Parallel()
	f, out := newFactory()
	list := &acl.ACL{Rules: []*acl.ACL_Rule{{IpRule: &acl.ACL_Rule_IpRule{}}}}
	err := printPlan(f, &shownPlan{Changes: &api.Plan{Operations: []api.RecordedTxnOp{
		{Operation: kvscheduler.TxnOperation_CREATE, Key: "acl/1", NewState: kvscheduler.ValueState_CONFIGURED, NewValue: list},
		{Operation: kvscheduler.TxnOperation_CREATE, Key: "acl/2", NewState: kvscheduler.ValueState_CONFIGURED, NewValue: &acl.ACL{}},
	}}}, planView{})
	if want := effects.Legend + "\n\n  + acl/1\n      + rules[0].action: DENY\n      + rules[0].ip_rule: {}\n  + acl/2\n\n2 items to create (2 operations)\n"; err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}
