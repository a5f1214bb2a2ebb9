package agentapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/agentapi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// maxBody is the limit of request bodies, in bytes.
const maxBody = 8 << 20

// mux is an HTTP server without guards.
type mux struct {
	rest.HTTPHandlers // nil: the plugin uses Register alone
	*http.ServeMux
}

func (m mux) Register(_ string, list ...rest.Endpoint) error {
	for _, e := range list {
		m.HandleFunc(e.Methods[0]+" "+e.Path, e.Handler)
	}
	return nil
}

// world is an agent with a mock southbound, and a client of it.
type world struct {
	*orchtest.Agent
	pb.AgentServiceClient
	t   *testing.T
	url string
}

func start(t *testing.T, changes ...func(*world, *agentapi.Deps)) *world {
	t.Helper()
	w := &world{t: t, Agent: orchtest.New(t)}
	handlers := mux{ServeMux: http.NewServeMux()}
	p := &agentapi.Plugin{Deps: agentapi.Deps{GRPC: w.GRPC, HTTP: handlers, Orchestrator: w.Orchestrator, Scheduler: w.Scheduler}}
	for _, change := range changes {
		change(w, &p.Deps)
	}
	w.Start(p)
	web := httptest.NewServer(http.MaxBytesHandler(handlers, maxBody))
	t.Cleanup(web.Close)
	w.url = web.URL
	w.AgentServiceClient = pb.NewAgentServiceClient(w.Conn)
	return w
}

func item(t *testing.T, msg proto.Message) *pb.Item {
	t.Helper()
	value, err := anypb.New(msg)
	if err != nil {
		t.Fatal(err)
	}
	return &pb.Item{Value: value}
}

func iface(name string, mtu uint32) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Mtu: mtu}
}

func key(name string) string { return ifmodel.InterfaceModel.KeyFor(name) }

func (w *world) apply(req *pb.ApplyRequest) *pb.ApplyResponse {
	w.t.Helper()
	resp, err := w.Apply(w.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// A client with default settings, which accepts 4 MiB, sends and reads 100,000 items.
func TestManyItems(t *testing.T) {
	t.Parallel()
	const items, limit = 100_000, 7
	w := start(t)
	change := &pb.Change{}
	for i := range items {
		change.Items = append(change.Items, item(t, iface(fmt.Sprintf("if%06d", i), 1500)))
	}
	change.Items = append(change.Items, item(t, &l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "missing"}))
	plan, err := w.Plan(w.Context(), &pb.PlanRequest{Change: change, Limit: limit})
	if err != nil || len(plan.Operations) != limit || plan.Omitted != items+1-limit {
		t.Fatalf("%d operations, %d left out, %v", len(plan.GetOperations()), plan.GetOmitted(), err)
	}
	first := w.apply(&pb.ApplyRequest{Change: change, Fingerprint: plan.Fingerprint})
	if len(first.Results) != 10_000 || first.Omitted != items+1-10_000 || first.Results[0].State != kvspb.ValueState_PENDING {
		t.Errorf("%d results, %d left out, first %v", len(first.Results), first.Omitted, first.Results[0])
	}
	resp := w.apply(&pb.ApplyRequest{Change: change, Limit: limit})
	if len(resp.Results) != limit || resp.Omitted != items+1-limit {
		t.Errorf("%d results, %d left out", len(resp.Results), resp.Omitted)
	}
	watch, err := w.Watch(w.Context(), &pb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	messages, values := 0, 0
	for more := true; more; messages++ {
		ev, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		more, values = ev.More, values+len(ev.Values)
		if ev.Kind != pb.WatchResponse_SNAPSHOT || more != (ev.Revision == "") {
			t.Fatalf("message %d: kind %s, more %t, revision %q", messages, ev.Kind, ev.More, ev.Revision)
		}
	}
	if messages < 2 || values != items+1 {
		t.Errorf("a snapshot of %d messages with %d values", messages, values)
	}
	w.pages(items + 1)
	txns, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{SequenceNumber: first.Transaction, Operations: true, Limit: limit})
	if err != nil || len(txns.Transactions) != 1 {
		t.Fatalf("%v, %v", txns, err)
	}
	if txn := txns.Transactions[0]; len(txn.Operations) != limit || txn.OperationCount < items {
		t.Errorf("%d operations of %d", len(txn.Operations), txn.OperationCount)
	}
}

// pages reads all items and the graph in pages. Both must have the number of values.
func (w *world) pages(number int) {
	w.t.Helper()
	const size = 20_000
	items, nodes, last := 0, 0, ""
	next := func(key string) {
		if key <= last {
			w.t.Fatalf("%s follows %s", key, last)
		}
		last = key
	}
	for token, more := "", true; more; more = token != "" {
		list, err := w.ListItems(w.Context(), &pb.ListItemsRequest{PageSize: size, PageToken: token})
		if err != nil || len(list.Items) > size {
			w.t.Fatalf("%d items, %v", len(list.GetItems()), err)
		}
		for _, it := range list.Items {
			next(it.Key)
		}
		items, token = items+len(list.Items), list.NextPageToken
	}
	last = ""
	for token, more := "", true; more; more = token != "" {
		list, err := w.GetGraph(w.Context(), &pb.GetGraphRequest{PageSize: size, PageToken: token})
		if err != nil || len(list.Nodes) > size {
			w.t.Fatalf("%d values, %v", len(list.GetNodes()), err)
		}
		for _, n := range list.Nodes {
			next(n.Key)
		}
		nodes, token = nodes+len(list.Nodes), list.NextPageToken
	}
	if items != number || nodes != number {
		w.t.Errorf("pages with %d items and %d values, expected %d", items, nodes, number)
	}
}

// A plan says what its change will do, and its fingerprint applies just that.
func TestPlanThenApply(t *testing.T) {
	t.Parallel()
	w := start(t)
	change := &pb.Change{Items: []*pb.Item{item(t, iface("a", 1500)), item(t, &l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "b"})}}
	plan, err := w.Plan(w.Context(), &pb.PlanRequest{Change: change})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Operations) != 2 || plan.Operations[0].Key != key("a") || plan.Operations[0].NewState != kvspb.ValueState_CONFIGURED ||
		plan.Operations[1].NewState != kvspb.ValueState_PENDING || len(plan.Reasons) != 1 || w.SB.Get(key("a")) != nil {
		t.Fatalf("plan %v", plan)
	}
	if a := plan.Items[0]; len(plan.Items) != 2 || a.Key != key("a") || a.Effect != pb.Effect_EFFECT_CREATE || a.Operations != 1 || *a.Fields[0].New != "1500" || a.Fields[0].Old != nil ||
		plan.Items[1].Effect != pb.Effect_EFFECT_WAIT || plan.Items[1].Reason == "" || len(plan.ItemCounts) != 2 {
		t.Errorf("items %v, counts %v", plan.Items, plan.ItemCounts)
	}
	resp := w.apply(&pb.ApplyRequest{Change: change, Fingerprint: plan.Fingerprint})
	if resp.Transaction == nil || len(resp.Results) != 2 || resp.Results[0].State != kvspb.ValueState_CONFIGURED || resp.Results[0].Source != "grpc" ||
		resp.Results[1].State != kvspb.ValueState_PENDING || !strings.Contains(resp.Results[1].Reason, key("b")) ||
		!strings.HasPrefix(resp.Summary, "1 of 2 in effect, 1 pending") {
		t.Errorf("response %v", resp)
	}
	_, err = w.Apply(w.Context(), &pb.ApplyRequest{Change: change, Fingerprint: plan.Fingerprint})
	if status.Code(err) != codes.Aborted {
		t.Errorf("the same plan again: %v, want Aborted", err)
	}
	resp = w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("b", 1500))}, Remove: []string{key("a")}}, Wait: true})
	if len(resp.Results) != 2 || resp.Results[0].State != kvspb.ValueState_CONFIGURED || w.SB.Get(key("a")) != nil {
		t.Errorf("add b, remove a: %v", resp)
	}
	if plan, err = w.Plan(w.Context(), &pb.PlanRequest{Change: &pb.Change{Remove: []string{"config/vpp/v2/route/if/b/vrf/0/dst/10.0.0.0/8/"}}}); err != nil || plan.Kept != 1 || plan.KeptKeys[0] != key("b") {
		t.Errorf("%v: kept %d, %q", err, plan.GetKept(), plan.GetKeptKeys())
	}
	resp = w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("c", 1500))}, Replace: true}})
	if w.SB.Get(key("b")) != nil || w.SB.Get(key("c")) == nil {
		t.Errorf("replace left b: %v", resp)
	}
}

// A plan and its change name the item of another source that they override.
func TestOverride(t *testing.T) {
	t.Parallel()
	w := start(t)
	if _, err := w.Orchestrator.PushData(w.Context(), "below", []orchestrator.KeyVal{{Key: key("a"), Val: iface("a", 1500)}}); err != nil {
		t.Fatal(err)
	}
	change := &pb.Change{Items: []*pb.Item{item(t, iface("a", 9000)), item(t, iface("b", 9000))}}
	plan, err := w.Plan(w.Context(), &pb.PlanRequest{Change: change})
	if err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string]interface {
		GetOverrides() []*pb.Override
		GetOverridden() uint32
	}{"plan": plan, "change": w.apply(&pb.ApplyRequest{Change: change})} {
		if o := list.GetOverrides(); len(o) != 1 || o[0].Key != key("a") || o[0].Source != "below" || list.GetOverridden() != 1 {
			t.Errorf("the %s overrides %v", what, o)
		}
	}
}

// Invalid requests change nothing, and name every wrong field.
func TestViolations(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, err := w.Apply(w.Context(), &pb.ApplyRequest{Change: &pb.Change{
		Items: []*pb.Item{
			item(t, iface("a", 9100)), {}, {Key: key("x"), Value: item(t, iface("b", 1)).Value}, item(t, &l3.Route{DstNetwork: "10.0.0.0/8"}),
			item(t, iface("c", 1)), item(t, iface("c", 2)), {Value: &anypb.Any{TypeUrl: "type.googleapis.com/no.such"}}, item(t, &pb.Change{}),
		},
		Remove: []string{"what"},
	}})
	st := status.Convert(err)
	if st.Code() != codes.InvalidArgument || !strings.Contains(st.Message(), "and 4 more") {
		t.Errorf("status %v %q", st.Code(), st.Message())
	}
	var got []string
	for _, d := range st.Details() {
		for _, v := range d.(*errdetails.BadRequest).FieldViolations {
			got = append(got, v.Field)
		}
	}
	want := "change.items[1] change.items[2] change.items[5] change.items[6] change.items[7] change.remove[0] change.items[0].value.mtu"
	if strings.Join(got, " ") != want {
		t.Errorf("violations of %v\nwant %s", got, want)
	}
	if w.SB.Get(key("c")) != nil {
		t.Error("an item of a rejected request is in effect")
	}
	for _, timeout := range []*durationpb.Duration{durationpb.New(-1), {Seconds: 1, Nanos: -1}} {
		if _, err := w.Apply(w.Context(), &pb.ApplyRequest{ConfirmTimeout: timeout}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("timeout %v: %v", timeout, err)
		}
	}
}

// A failure reverts the change if the client asks for it; otherwise it is in the results.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("bad"), Err: errors.New("no buffers"), Times: 2})
	change := &pb.Change{Items: []*pb.Item{item(t, iface("bad", 1)), item(t, iface("good", 1))}}
	_, err := w.Apply(w.Context(), &pb.ApplyRequest{Change: change, RevertOnFailure: true})
	if st := status.Convert(err); st.Code() != codes.FailedPrecondition || !strings.Contains(st.Message(), "reverted: "+key("bad")) {
		t.Errorf("status %v", err)
	}
	if w.SB.Get(key("good")) != nil {
		t.Error("good was not reverted")
	}
	resp := w.apply(&pb.ApplyRequest{Change: change})
	if r := resp.Results[0]; r.State != kvspb.ValueState_RETRYING || !strings.Contains(r.Error, "no buffers") || resp.Results[1].Reason != "" {
		t.Errorf("results %v", resp)
	}
}

// A change that has to be confirmed is confirmed once.
func TestConfirm(t *testing.T) {
	t.Parallel()
	w := start(t)
	resp := w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("a", 1))}}, ConfirmTimeout: durationpb.New(time.Hour)})
	if resp.ConfirmBy == nil || resp.CommitId == "" {
		t.Fatalf("nothing to confirm: %v", resp)
	}
	if _, err := w.Confirm(w.Context(), &pb.ConfirmRequest{CommitId: "another"}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("another change is confirmed: %v", err)
	}
	confirmed, err := w.Confirm(w.Context(), &pb.ConfirmRequest{CommitId: resp.CommitId})
	if err != nil || confirmed.GetTransaction() != resp.GetTransaction() {
		t.Errorf("confirmed %v, %v", confirmed, err)
	}
	if _, err := w.Confirm(w.Context(), &pb.ConfirmRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("confirmed twice: %v", err)
	}
	w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("a", 2))}}, ConfirmTimeout: durationpb.New(time.Hour), CommitId: "mine"})
	if _, err := w.Cancel(w.Context(), &pb.CancelRequest{CommitId: resp.CommitId}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("another change is canceled: %v", err)
	}
	if _, err := w.Cancel(w.Context(), &pb.CancelRequest{CommitId: "mine"}); err != nil {
		t.Error(err)
	}
	if _, err := w.Apply(w.Context(), &pb.ApplyRequest{CommitId: "mine"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an ID without a confirmation: %v", err)
	}
}

// A watch begins with a snapshot, reports changes, and continues from a revision.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("a", 1))}}})
	ctx, cancel := context.WithCancel(w.Context())
	stream, err := w.Watch(ctx, &pb.WatchRequest{KeyPrefix: key("")})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.Kind != pb.WatchResponse_SNAPSHOT || len(first.Values) != 1 {
		t.Fatalf("first %v, %v", first, err)
	}
	cancel()
	w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("b", 1))}}})
	again, err := w.Watch(w.Context(), &pb.WatchRequest{KeyPrefix: key(""), Since: first.Revision})
	if err != nil {
		t.Fatal(err)
	}
	next, err := again.Recv()
	if err != nil || next.Kind != pb.WatchResponse_DELTA || len(next.Values) != 1 || next.Values[0].GetValue().GetKey() != key("b") {
		t.Errorf("next %v, %v", next, err)
	}
	wrong, err := w.Watch(w.Context(), &pb.WatchRequest{Since: "yesterday"})
	if err == nil {
		_, err = wrong.Recv()
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("since yesterday: %v", err)
	}
}

// The other calls return what the agent knows, without secrets.
func TestQueries(t *testing.T) {
	t.Parallel()
	w := start(t)
	secret := &interfaces.Interface{
		Name: "m", Type: interfaces.Interface_MEMIF,
		Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Secret: "open sesame"}},
	}
	resp := w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, secret), item(t, &l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "b"})}}})
	items, err := w.ListItems(w.Context(), &pb.ListItemsRequest{KeyPrefix: key(""), Values: true})
	if err != nil || len(items.Items) != 1 || items.Items[0].Sources[0].Source != "grpc" || items.Items[0].Sources[0].Value == nil ||
		strings.Contains(items.String(), "sesame") {
		t.Errorf("items %v, %v", items, err)
	}
	other := proto.CloneOf(secret)
	other.GetMemif().Secret = "open pepper"
	plan, err := w.Plan(w.Context(), &pb.PlanRequest{Change: &pb.Change{Items: []*pb.Item{item(t, other)}}})
	if err != nil || len(plan.Operations) != 1 || !slices.Equal(plan.Operations[0].ChangedSecrets, []string{"memif.secret"}) || strings.Contains(plan.String(), "open") {
		t.Errorf("plan of another secret %v, %v", plan, err)
	}
	why, err := w.Explain(w.Context(), &pb.ExplainRequest{Key: l3model.RouteModel.Key(&l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "b"})})
	if err != nil || why.Explanation.State != kvspb.ValueState_PENDING || len(why.Explanation.Children) != 1 || !why.Explanation.Children[0].NotConfigured {
		t.Errorf("explanation %v, %v", why, err)
	}
	if _, err := w.Explain(w.Context(), &pb.ExplainRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no key: %v", err)
	}
	txns, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{SequenceNumber: resp.Transaction, Operations: true})
	if err != nil || len(txns.Transactions) != 1 || len(txns.Transactions[0].Operations) != 2 || txns.Transactions[0].Type != "NBTransaction" ||
		txns.Transactions[0].Operations[0].Duration == nil || strings.Contains(txns.String(), "sesame") {
		t.Errorf("transactions %v, %v", txns, err)
	}
	if txns, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{SequenceNumber: resp.Transaction, Items: true, Limit: 1}); err != nil ||
		len(txns.Transactions[0].Items) != 1 || txns.Transactions[0].Items[0].Key != key("m") || len(txns.Transactions[0].ItemCounts) != 2 || strings.Contains(txns.String(), "sesame") {
		t.Errorf("items of the transaction: %v, %v", txns, err)
	}
	if all, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{}); err != nil || len(all.Transactions) < 2 || all.Transactions[0].SequenceNumber != 0 {
		t.Errorf("history %v, %v", all, err)
	}
	if later, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{Since: txns.Transactions[0].Stop}); err != nil || len(later.Transactions) != 0 {
		t.Errorf("history since then %v, %v", later, err)
	}
	var numbers []uint64
	for token, more := "", true; more; more = token != "" {
		list, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{PageSize: 1, PageToken: token})
		if err != nil || len(list.Transactions) != 1 {
			t.Fatalf("a page of the history: %v, %v", list, err)
		}
		numbers, token = append(numbers, list.Transactions[0].SequenceNumber), list.NextPageToken
	}
	if last := len(numbers) - 1; last < 1 || numbers[0] != 0 || numbers[last] != *resp.Transaction || !slices.IsSorted(numbers) {
		t.Errorf("pages of the history have the transactions %v, the last one is %d", numbers, *resp.Transaction)
	}
	if _, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{PageToken: "x"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a malformed token: %v", err)
	}
	none := uint64(99)
	if _, err := w.ListTransactions(w.Context(), &pb.ListTransactionsRequest{SequenceNumber: &none}); status.Code(err) != codes.NotFound {
		t.Errorf("transaction 99: %v", err)
	}
	graph, err := w.GetGraph(w.Context(), &pb.GetGraphRequest{KeyPrefix: "config/vpp/v2/route/", Values: true})
	if err != nil || len(graph.Nodes) != 1 || graph.Nodes[0].DescriptorName != "route" || len(graph.Nodes[0].Edges) != 1 || graph.Nodes[0].Edges[0].Satisfied {
		t.Errorf("graph %v, %v", graph, err)
	}
}

// Drift and orphans are what the southbound has and no source configures.
func TestDriftAndOrphans(t *testing.T) {
	t.Parallel()
	w := start(t)
	if drift, err := w.GetDrift(w.Context(), &pb.GetDriftRequest{}); err != nil || drift.Start != nil {
		t.Errorf("drift before the first detection: %v, %v", drift, err)
	}
	w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("a", 1))}}})
	w.SB.Put(key("a"), iface("a", 2))
	drift, err := w.GetDrift(w.Context(), &pb.GetDriftRequest{Detect: true})
	if err != nil || len(drift.Drifts) != 1 || drift.Drifts[0].Key != key("a") || drift.Drifts[0].Fields[0].Field != "mtu" {
		t.Errorf("drift %v, %v", drift, err)
	}
	if orphans, err := w.ListOrphans(w.Context(), &pb.ListOrphansRequest{}); err != nil || len(orphans.Orphans) != 0 {
		t.Errorf("orphans %v, %v", orphans, err)
	}
}

// The same calls are served as JSON over HTTP.
func TestHTTP(t *testing.T) {
	t.Parallel()
	w := start(t)
	post := func(call, body string, want int) string {
		t.Helper()
		resp, err := http.Post(w.url+"/tenuto.v1.AgentService/"+call, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: status %d, %v: %s", call, resp.StatusCode, err, text)
		}
		return strings.ReplaceAll(string(text), " ", "") // protojson varies its blanks
	}
	const change = `"change": {"items": [{"value": {"@type": "type.googleapis.com/ligato.vpp.interfaces.Interface", "name": "a", "mtu": MTU}}]}`
	if got := post("Apply", "{"+strings.Replace(change, "MTU", "7", 1)+"}", 200); !strings.Contains(got, `"state":"CONFIGURED"`) {
		t.Errorf("apply: %s", got)
	}
	if got := post("Apply", "{"+strings.Replace(change, "MTU", "9001", 1)+"}", 400); !strings.Contains(got, `"field":"change.items[0].value.mtu"`) {
		t.Errorf("apply: %s", got)
	}
	post("Apply", `{"fingerprint": "old",`+strings.Replace(change, "MTU", "8", 1)+"}", 409)
	unknown := strings.Replace(change, "interfaces.Interface", "interfaces.Interfaces", 1)
	if got := post("Apply", "{"+strings.Replace(unknown, "MTU", "8", 1)+"}", 400); !strings.Contains(got, `"field":"change.items[0].value"`) ||
		!strings.Contains(got, "didyoumeanligato.vpp.interfaces.Interface?") {
		t.Errorf("unknown message: %s", got)
	}
	post("Confirm", ``, 409)
	if got := post("Explain", `{"key": "`+strings.Repeat("x", maxBody)+`"}`, 413); !strings.Contains(got, "max-body-bytes") {
		t.Errorf("a large body: %s", got)
	}
	post("ListTransactions", `{"sequenceNumber": "99"}`, 404)

	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.url+"/tenuto.v1.AgentService/Watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), "SNAPSHOT") {
		t.Errorf("watch: %q, %v", lines.Text(), lines.Err())
	}
}
