package orchestrator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func (w *world) plan(items []orchestrator.KeyVal, opts ...orchestrator.PushOption) *orchestrator.Plan {
	w.t.Helper()
	plan, err := w.PlanData(w.t.Context(), orchestrator.GRPC, items, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

func (w *world) applyPlan(plan *orchestrator.Plan, o orchestrator.ApplyOptions) orchestrator.Applied {
	w.t.Helper()
	applied, err := w.ApplyPlan(w.t.Context(), plan, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return applied
}

func items(list ...orchestrator.KeyVal) []orchestrator.KeyVal { return list }

// The applied values are the desired state of the source from then on: a
// synchronisation keeps them.
func TestPlanAndApply(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1), iface("old", 1))
	w.push(orchestrator.LocalClient, iface("local", 1))
	plan := w.plan(items(iface("a", 2), iface("b", 1), iface("local", 7)), orchestrator.WithResync())
	if n := len(plan.Changes.Operations); n != 3 {
		t.Errorf("%d operations: %v", n, plan.Changes.Operations)
	}
	if len(plan.Left) != 1 || !strings.Contains(plan.Left[0].Reason, "source localclient") {
		t.Errorf("left: %v", plan.Left)
	}
	w.wantMTU("a", 1)
	w.applyPlan(plan, orchestrator.ApplyOptions{Verify: true})
	for range 2 {
		w.wantMTU("a", 2)
		w.wantMTU("b", 1)
		w.wantMTU("old", -1)
		w.wantMTU("local", 1)
		if _, err := w.PushData(t.Context(), orchestrator.LocalClient, items(iface("local", 1)), orchestrator.WithResync()); err != nil {
			t.Fatal(err)
		}
	}
	if again := w.plan(items(iface("a", 2), iface("b", 1))); len(again.Changes.Changes()) != 0 {
		t.Errorf("the same again: %v", again.Changes.Operations)
	}
}

// An item that another source has as well stays when one source removes it, whatever the
// priorities are.
func TestPlanOfSharedItem(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	w.push(orchestrator.LocalClient, iface("a", 1))
	w.push(orchestrator.GRPC, iface("a", 1))
	plan := w.plan(nil, orchestrator.WithResync())
	if got := fmt.Sprint(plan.Left); !strings.Contains(got, "source localclient configures it, too") {
		t.Errorf("left: %s", got)
	}
	if n := len(plan.Changes.Changes()); n > 0 {
		t.Errorf("changes: %v", plan.Changes.Changes())
	}
}

func TestStalePlans(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	plan := w.plan(items(iface("a", 1)))
	w.push(orchestrator.GRPC, iface("a", 5))
	if _, err := w.ApplyPlan(t.Context(), plan, orchestrator.ApplyOptions{}); !errors.Is(err, api.ErrPlanStale) || !strings.Contains(err.Error(), "interfaces/a") {
		t.Errorf("the value changed: %v", err)
	}
	w.wantMTU("a", 5)
	plan = w.plan(items(iface("b", 1)))
	w.push(orchestrator.LocalClient, iface("b", 5))
	if _, err := w.ApplyPlan(t.Context(), plan, orchestrator.ApplyOptions{}); !errors.Is(err, api.ErrPlanStale) {
		t.Errorf("another source came: %v", err)
	}
	// A stale plan leaves nothing behind in what the source wants.
	w.push(orchestrator.LocalClient, gone("b"))
	w.wantMTU("b", -1)
}

func TestApplyReverts(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1))
	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: iface("b", 0).Key, Times: 1})
	var txn *api.TransactionError
	_, err := w.ApplyPlan(t.Context(), w.plan(items(iface("a", 2), iface("b", 1))),
		orchestrator.ApplyOptions{Revert: true, ConfirmTimeout: time.Hour})
	if !errors.As(err, &txn) || !txn.Reverted() {
		t.Errorf("not reverted: %v", err)
	}
	w.wantMTU("a", 1)
	if _, err := w.ConfirmCommit(""); !errors.Is(err, orchestrator.ErrNothingToConfirm) {
		t.Errorf("confirm after a revert: %v", err)
	}
	w.sb.Put(iface("a", 0).Key, iface("a", 9).Val)
	_, err = w.ApplyPlan(t.Context(), w.plan(items(iface("a", 1), iface("c", 1))), orchestrator.ApplyOptions{Revert: true, Verify: true})
	if !errors.Is(err, api.ErrNotVerified) {
		t.Errorf("not verified: %v", err)
	}
	w.wantMTU("c", -1)
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	health := newWitness(t)
	w := start(t, nil, health.use())
	told := func(want string) {
		t.Helper()
		if _, reason := health.state(); reason != want {
			t.Errorf("health: %q, expected %q", reason, want)
		}
	}
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1))
	applied := w.applyPlan(w.plan(items(iface("a", 2))), orchestrator.ApplyOptions{ConfirmTimeout: time.Hour})
	if applied.ConfirmBy.IsZero() {
		t.Error("nothing to confirm")
	}
	told(fmt.Sprintf("1 item from 1 source; transaction %d will be reverted at %s unless it is confirmed (agentctl confirm %s)",
		applied.SeqNum, applied.ConfirmBy.UTC().Format(time.RFC3339), applied.CommitID))
	if _, err := w.ApplyPlan(t.Context(), w.plan(items(iface("b", 2))), orchestrator.ApplyOptions{}); !errors.Is(err, orchestrator.ErrUnconfirmed) {
		t.Errorf("a second plan before the confirmation: %v", err)
	}
	if seq, err := w.ConfirmCommit(""); err != nil || seq != applied.SeqNum {
		t.Errorf("confirm: %d, %v", seq, err)
	}
	told("1 item from 1 source")
	w.wantMTU("a", 2)
	// Not confirmed: only items that were not changed again are reverted. The change
	// waits for the scheduler, and the time begins when it is done.
	w.applyPlan(w.plan(items(iface("a", 3), iface("b", 3), iface("c", 3))), orchestrator.ApplyOptions{ConfirmTimeout: 200 * time.Millisecond})
	w.push(orchestrator.GRPC, iface("c", 4))
	until(t, "a and b are taken back", func() bool { return w.mtu("a") == 2 && w.mtu("b") == -1 })
	w.wantMTU("c", 4)
	if _, err := w.ConfirmCommit(""); !errors.Is(err, orchestrator.ErrNothingToConfirm) {
		t.Errorf("confirm too late: %v", err)
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1), iface("b", 1))
	history := w.scheduler.GetTransactionHistory(time.Time{}, time.Time{})
	to := history[len(history)-1].SeqNum
	w.push(orchestrator.GRPC, iface("a", 2), gone("b"), iface("c", 1))
	w.push(orchestrator.LocalClient, iface("local", 1))
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, items(iface("a", 3)), orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	plan, err := w.PlanRollback(t.Context(), to, orchestrator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Left) != 1 || plan.Left[0].Key != iface("local", 0).Key {
		t.Errorf("left: %v", plan.Left)
	}
	w.applyPlan(plan, orchestrator.ApplyOptions{Verify: true})
	w.wantMTU("a", 1)
	w.wantMTU("b", 1)
	w.wantMTU("c", -1)
	w.wantMTU("local", 1)
	if _, err := w.PlanRollback(t.Context(), 999, orchestrator.Caller{}); err == nil || !strings.Contains(err.Error(), "not in the history") {
		t.Errorf("a transaction that never was: %v", err)
	}
}

func TestPlanREST(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	const a1 = "vppConfig: {interfaces: [{name: a, mtu: 1}, {name: b}]}"
	saved := s.do("POST", "/scheduler/plan", a1, 200, `"PlanFormat": 1`, `"CREATE"`)
	w.wantMTU("a", -1)
	applied := s.do("POST", "/scheduler/apply?verify&revert", saved, 200, `"state": "CONFIGURED"`, `"seq_num"`)
	w.wantMTU("a", 1)
	s.do("POST", "/scheduler/apply", saved, 409, "the plan is stale", "interfaces/a")
	s.do("POST", "/scheduler/apply", saved[:100], 400, "damaged")
	s.do("POST", "/scheduler/apply", strings.Replace(saved, `"PlanFormat": 1`, `"PlanFormat": 9`, 1), 400, "another version")
	s.do("POST", "/scheduler/apply?confirm-timeout=soon", saved, 400, "expected a positive duration")
	s.do("POST", "/scheduler/plan", "vppConfig: {interfaces: [{nam: a}]}", 400, `"line": 1`)
	s.do("POST", "/scheduler/confirm", "", 409, "no change is waiting")

	saved = s.do("POST", "/scheduler/plan?replace", "vppConfig: {interfaces: [{name: a, mtu: 2}]}", 200, `"DELETE"`)
	s.do("POST", "/scheduler/apply?commit-id=x", saved, 400, "parameter commit-id: expected together with confirm-timeout")
	s.do("POST", "/scheduler/apply?confirm-timeout=1h&commit-id=x", saved, 200, `"confirm_by"`, `"commit_id": "x"`)
	s.do("POST", "/scheduler/apply", s.do("POST", "/scheduler/plan", a1, 200), 409, "is waiting for confirmation: agentctl confirm x (transaction")
	s.do("POST", "/scheduler/confirm?id=y", "", 409, `its ID is \"x\", not \"y\"`)
	s.do("POST", "/scheduler/cancel?id=y", "", 409, `its ID is \"x\", not \"y\"`)
	s.do("POST", "/scheduler/cancel?id=x", "", 200)
	w.wantMTU("a", 1)
	s.do("POST", "/scheduler/cancel", "", 409, "no change is waiting")
	saved = s.do("POST", "/scheduler/plan?replace", "vppConfig: {interfaces: [{name: a, mtu: 2}]}", 200, `"DELETE"`)
	var made struct {
		CommitID string `json:"commit_id"`
	}
	if err := json.Unmarshal([]byte(s.do("POST", "/scheduler/apply?confirm-timeout=1h", saved, 200)), &made); err != nil || made.CommitID == "" {
		t.Fatalf("commit ID %q, %v", made.CommitID, err)
	}
	s.do("POST", "/scheduler/confirm?id="+made.CommitID, "", 200, `"seq_num"`)
	w.wantMTU("a", 2)
	w.wantMTU("b", -1)

	var first struct {
		SeqNum json.Number `json:"seq_num"`
	}
	if err := json.Unmarshal([]byte(applied), &first); err != nil {
		t.Fatal(err)
	}
	s.do("POST", "/scheduler/rollback?dry-run&to="+first.SeqNum.String(), "", 200, `"PlanFormat": 1`)
	w.wantMTU("a", 2)
	s.do("POST", "/scheduler/rollback?to="+first.SeqNum.String(), "", 200, `"seq_num"`)
	w.wantMTU("a", 1)
	w.wantMTU("b", 0)
	s.do("POST", "/scheduler/rollback?to=yesterday", "", 400, "expected the number of a transaction")
	s.do("POST", "/scheduler/rollback?to=12345", "", 400, "not in the history")
}

// A request is applied if its plan still has the fingerprint that was shown.
func TestPlanByReference(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	const all = `{vppConfig: {interfaces: [{name: a, mtu: 1}, {name: b}, {name: c}],
		routes: [{dstNetwork: 10.0.0.0/8, outgoingInterface: x}]}}`
	shown := func(limit int) (plan orchestrator.Plan) {
		t.Helper()
		text := s.do("POST", fmt.Sprintf("/scheduler/plan?limit=%d", limit), all, 200)
		if err := api.OpenPlan([]byte(text), &plan); err != nil {
			t.Fatal(err)
		}
		return plan
	}
	part, whole := shown(2), shown(0)
	if len(part.Changes.Operations) != 2 || part.Omitted != 2 || part.Changed != 4 || part.Counts[api.StepCreate] != 3 || part.Counts[api.StepWait] != 1 {
		t.Errorf("the first operations: %+v", part)
	}
	if len(whole.Changes.Operations) != 4 || whole.Omitted != 0 || whole.Fingerprint != part.Fingerprint {
		t.Errorf("all operations: %+v", whole)
	}
	if len(part.Effects) != 2 || part.OmittedItems != 2 || part.ItemCounts[api.StepCreate] != 3 || len(whole.Effects) != 4 || whole.OmittedItems != 0 {
		t.Errorf("items: %+v and %+v", part, whole)
	}
	if a := whole.Effects[0]; a.Kind != api.StepCreate || a.Key != "config/vpp/v2/interfaces/a" || a.Operations != 1 || len(a.Fields) != 2 || a.Fields[0].New != "1" {
		t.Errorf("item a: %+v", a)
	}
	s.do("POST", "/scheduler/apply", s.do("POST", "/scheduler/plan?limit=2", all, 200), 400, "not a plan of source grpc")
	s.do("POST", "/scheduler/apply?fingerprint="+part.Fingerprint, strings.Replace(all, "mtu: 1", "mtu: 2", 1), 409, "the plan is stale")
	s.do("POST", "/scheduler/apply?replace&fingerprint="+part.Fingerprint, all, 200, `"seq_num"`)
	w.wantMTU("a", 1)
	s.do("POST", "/scheduler/apply?fingerprint="+part.Fingerprint, all, 409, "the plan is stale")

	var few orchestrator.Plan
	infratest.Fatal(t, api.OpenPlan([]byte(s.do("POST", "/scheduler/plan?limit=0", `{vppConfig: {interfaces: [{name: a, mtu: 1}, {name: new}]}}`, 200)), &few))
	if got := fmt.Sprint(few.Kept, few.KeptItems); got != fmt.Sprint(3, []string{"config/vpp/v2/interfaces/b", "config/vpp/v2/interfaces/c", "config/vpp/v2/route/if/x/vrf/0/dst/10.0.0.0/8/"}) {
		t.Errorf("kept %s", got)
	}
	if text := s.do("POST", "/scheduler/plan?limit=0&replace=true", `{}`, 200, `"Effects"`); strings.Contains(text, `"Kept"`) {
		t.Errorf("items stay although all others are removed: %s", text)
	}

	now := shown(0).Fingerprint
	w.push(orchestrator.LocalClient, iface("b", 7))
	s.do("POST", "/scheduler/apply?fingerprint="+now, all, 409, "the plan is stale")
	s.do("POST", "/scheduler/plan?limit=many", all, 400, "expected a number of operations")
}
