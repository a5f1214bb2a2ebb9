package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// shownItems writes items as agentctl does.
func shownItems(items []api.PlanItem) string {
	var text strings.Builder
	for _, it := range items {
		fmt.Fprintf(&text, "%s %s %d", it.Kind, it.Key, it.Operations)
		if it.Because != nil {
			text.WriteString(" because " + it.Because.Text())
		}
		if it.Reverted {
			text.WriteString(" reverted")
		}
		fmt.Fprintf(&text, " %s%s\n", it.Reason, it.Error)
		for _, f := range it.Fields {
			fmt.Fprintf(&text, "  %s %s: %s %s %s %s %t %t\n", f.Kind, f.Path, f.Old, f.New, f.Removed, f.Added, f.Secret, f.Forces)
		}
		for _, p := range it.Parts {
			fmt.Fprintf(&text, "  %s %s %s\n", p.Kind, p.Key, p.Reason)
		}
	}
	return text.String()
}

// tunnel is an interface with a secret.
func tunnel(port uint32, key string, addresses ...string) *interfaces.Interface {
	return &interfaces.Interface{IpAddresses: addresses, Link: &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{Port: port, PrivateKey: key}}}
}

// A change of an item has the values derived from it, and names the secrets that differ.
func TestItemsOfPlan(t *testing.T) {
	t.Parallel()
	p := &api.Plan{Operations: []api.RecordedTxnOp{
		{Operation: pb.TxnOperation_DELETE, Key: "route", PrevState: pb.ValueState_CONFIGURED, NewState: pb.ValueState_PENDING, Cause: "wg"},
		{Operation: pb.TxnOperation_DELETE, Key: "wg/address/1", IsDerived: true, Base: "wg"},
		{Operation: pb.TxnOperation_DELETE, Key: "wg", IsRecreate: true, PrevValue: tunnel(1, "old", "10.0.0.1/8", "10.0.0.2/8")},
		{Operation: pb.TxnOperation_CREATE, Key: "wg", IsRecreate: true, NewState: pb.ValueState_CONFIGURED, NewValue: tunnel(2, "new", "10.0.0.2/8", "10.0.0.3/8")},
		{Operation: pb.TxnOperation_CREATE, Key: "wg/address/3", IsDerived: true, Base: "wg", NewState: pb.ValueState_PENDING, NOOP: true},
		{Operation: pb.TxnOperation_CREATE, Key: "route", NewState: pb.ValueState_CONFIGURED, Cause: "wg"},
	}, Forced: map[string][]string{"wg": {"wireguard.port"}}, Reasons: []api.PlanReason{
		{Key: "other", Reason: "stays"}, {Key: "wg/address/3", Base: "wg", Reason: "waits for x"}, {Key: "wg/address/4", Base: "wg", Reason: "waits for y"},
	}}
	items := p.ByItem(0, nil)
	api.HideItemSecrets(items.List)
	api.DescribeItems(items.List)
	const want = `-/+ wg 4 
  ~ ip_addresses:   [10.0.0.1/8] [10.0.0.3/8] false false
  ~ wireguard.port: 1 2 [] [] false true
  ~ wireguard.private_key:   [] [] true false
  ? wg/address/3 waits for x
  ? wg/address/4 waits for y
-/+ route 2 because wg is created again (wireguard.port) 
= other 0 stays
`
	if got := shownItems(items.List); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
	if fmt.Sprint(items.Counts) != "map[-/+:2 =:1 ?:1]" || items.Omitted != 0 {
		t.Errorf("counts %v, omitted %d", items.Counts, items.Omitted)
	}
}

// An item that another source has as well is listed and counted once, with what happens to it.
func TestItemsOfTwoSources(t *testing.T) {
	t.Parallel()
	p := &api.Plan{Operations: []api.RecordedTxnOp{
		{Operation: pb.TxnOperation_UPDATE, Key: "a", NewState: pb.ValueState_CONFIGURED},
		{Operation: pb.TxnOperation_CREATE, Key: "b", NewState: pb.ValueState_PENDING, NOOP: true},
	}, Reasons: []api.PlanReason{{Key: "b", Reason: "waits for x"}}}
	items := p.ByItem(0, []api.PlanReason{{Key: "a", Reason: "etcd has it, too"}, {Key: "b", Reason: "etcd has it, too"}, {Key: "c", Reason: "etcd decides"}})
	const want = "~ a 1 etcd has it, too\n? b 1 waits for x; etcd has it, too\n= c 0 etcd decides\n"
	if got := shownItems(items.List); got != want || fmt.Sprint(items.Counts) != "map[=:1 ?:1 ~:1]" {
		t.Errorf("%v, got\n%s\nexpected\n%s", items.Counts, got, want)
	}
}

// The items of a transaction have what became of them.
func TestItemsOfTransaction(t *testing.T) {
	t.Parallel()
	txn := &api.RecordedTxn{Executed: []api.RecordedTxnOp{
		{Operation: pb.TxnOperation_UPDATE, Key: "a", PrevValue: tunnel(1, "x"), NewValue: tunnel(2, "x"), NewState: pb.ValueState_CONFIGURED},
		{Operation: pb.TxnOperation_CREATE, Key: "b", NewState: pb.ValueState_FAILED, NewErrMsg: "no memory"},
		{Operation: pb.TxnOperation_CREATE, Key: "a/1", IsDerived: true, Base: "a", NewState: pb.ValueState_FAILED, NewErrMsg: "refused"},
		{Operation: pb.TxnOperation_UPDATE, Key: "a", IsRevert: true, PrevValue: tunnel(2, "x"), NewValue: tunnel(1, "x"), NewState: pb.ValueState_CONFIGURED},
	}}
	items := txn.ByItem(0).List
	api.DescribeItems(items)
	const want = `~ a 3 reverted 
  ~ wireguard.port: 1 2 [] [] false false
  ! a/1 refused
! b 1 no memory
`
	if got := shownItems(items); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

// A limit leaves some items of each kind, and an item with many parts names the first.
func TestItemsOfLargePlan(t *testing.T) {
	t.Parallel()
	p := &api.Plan{}
	for i := range 1000 {
		p.Operations = append(p.Operations, api.RecordedTxnOp{Operation: pb.TxnOperation_CREATE, Key: fmt.Sprint("new", i), NewState: pb.ValueState_CONFIGURED},
			api.RecordedTxnOp{Operation: pb.TxnOperation_CREATE, Key: fmt.Sprint("part", i), IsDerived: true, Base: "bd", NewState: pb.ValueState_CONFIGURED})
	}
	p.Operations = append(p.Operations, api.RecordedTxnOp{Operation: pb.TxnOperation_DELETE, Key: "old"})
	items := p.ByItem(16, []api.PlanReason{{Key: "kept", Reason: "r"}})
	shown := map[api.StepKind]int{}
	for _, it := range items.List {
		shown[it.Kind]++
	}
	if got := fmt.Sprint(shown, items.Counts, items.Omitted); got != "map[+:13 -:1 =:1 ~:1] map[+:1000 -:1 =:1 ~:1] 987" {
		t.Error(got)
	}
	if bd := items.List[1]; bd.Key != "bd" || len(bd.Parts) != 10 || bd.OmittedParts != 990 || bd.Operations != 1000 {
		t.Errorf("%+v", bd)
	}
}
