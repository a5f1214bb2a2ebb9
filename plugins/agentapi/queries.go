package agentapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// Watch implements the call.
func (s *service) Watch(req *pb.WatchRequest, stream rpc.ServerStreamingServer[pb.WatchResponse]) error {
	want := api.WatchRequest{Prefix: req.GetKeyPrefix(), NoSnapshot: req.GetNoSnapshot()}
	if since := req.GetSince(); since != "" {
		var err error
		if want.Since, err = api.ParseStatusRevision(since); err != nil {
			return invalidQuery("since", err.Error())
		}
	}
	kinds := map[api.WatchKind]pb.WatchResponse_Kind{
		api.WatchSnapshot: pb.WatchResponse_SNAPSHOT, api.WatchDelta: pb.WatchResponse_DELTA, api.WatchResync: pb.WatchResponse_RESYNC,
	}
	watch := s.Scheduler.Watch(want)
	defer watch.Close()
	for {
		ev, err := watch.Next(stream.Context())
		if err != nil {
			return apierr.Of(stream.Context(), err)
		}
		values := ev.Values
		for more := true; more; {
			resp := &pb.WatchResponse{Kind: kinds[ev.Kind]}
			resp.Values, values = firstOf(values)
			if more = len(values) > 0; !more {
				resp.Revision = ev.Revision.String()
			}
			resp.More = more
			if err := stream.Send(resp); err != nil {
				return err
			}
		}
	}
}

// maxWatchBytes is the size of values in one message of a watch: gRPC clients accept 4 MiB by
// default.
const maxWatchBytes = 1 << 20

// firstOf splits the values that fit into one message from the rest.
func firstOf(values []*kvspb.BaseValueStatus) (first, rest []*kvspb.BaseValueStatus) {
	size := 0
	for i, v := range values {
		if size += proto.Size(v); size > maxWatchBytes && i > 0 {
			return values[:i], values[i:]
		}
	}
	return values, nil
}

// page returns the part of a list, which is sorted by key, that follows the page with a token.
func page[T any](list []T, key func(T) string, size uint32, token string) (part []T, next string) {
	if token != "" {
		at, found := slices.BinarySearchFunc(list, token, func(e T, token string) int { return strings.Compare(key(e), token) })
		if found {
			at++
		}
		list = list[at:]
	}
	if size == 0 || uint64(len(list)) <= uint64(size) {
		return list, ""
	}
	list = list[:size]
	return list, key(list[size-1])
}

// Explain implements the call.
func (s *service) Explain(_ context.Context, req *pb.ExplainRequest) (*pb.ExplainResponse, error) {
	if req.GetKey() == "" {
		return nil, invalidQuery("key", "expected the key of a value")
	}
	return &pb.ExplainResponse{Explanation: explanation(s.Scheduler.Explain(req.GetKey()))}, nil
}

func explanation(e *api.Explanation) *pb.Explanation {
	out := &pb.Explanation{
		Key: e.Key, State: e.State, Since: timestamp(e.Since), Reason: e.Reason, Label: e.Label,
		Undescribed: e.Undescribed, NotConfigured: e.NotConfigured,
	}
	for _, child := range e.Children {
		out.Children = append(out.Children, explanation(child))
	}
	return out
}

// ListItems implements the call.
func (s *service) ListItems(ctx context.Context, req *pb.ListItemsRequest) (*pb.ListItemsResponse, error) {
	items, next := page(s.Orchestrator.Sourced(req.GetKeyPrefix()),
		func(it orchestrator.SourcedItem) string { return it.Key }, req.GetPageSize(), req.GetPageToken())
	resp := &pb.ListItemsResponse{NextPageToken: next}
	for _, it := range items {
		out := &pb.SourcedItem{Key: it.Key}
		for _, src := range it.Sources {
			item := &pb.SourceItem{Source: src.Source, Location: src.Location.Text(it.Key), Labels: src.Labels}
			if req.GetValues() {
				var err error
				if item.Value, err = packed(ctx, src.Val); err != nil {
					return nil, err
				}
			}
			out.Sources = append(out.Sources, item)
		}
		resp.Items = append(resp.Items, out)
	}
	return resp, nil
}

// packed packs a value, without its secrets unless the client may see them. It is nil for nil.
func packed(ctx context.Context, val proto.Message) (*anypb.Any, error) {
	if val == nil {
		return nil, nil
	}
	if !mayShowSecrets(ctx) {
		val, _ = logging.HideSecrets(val)
	}
	return anyOf(val)
}

func anyOf(val proto.Message) (*anypb.Any, error) {
	if val == nil {
		return nil, nil
	}
	out, err := anypb.New(val)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return out, nil
}

// ListTransactions implements the call.
func (s *service) ListTransactions(ctx context.Context, req *pb.ListTransactionsRequest) (*pb.ListTransactionsResponse, error) {
	var list []*api.RecordedTxn
	if req.SequenceNumber != nil {
		txn := s.Scheduler.GetRecordedTransaction(req.GetSequenceNumber())
		if txn == nil {
			return nil, status.Errorf(codes.NotFound, "transaction %d is not in the history", req.GetSequenceNumber())
		}
		list = append(list, txn)
	} else {
		list = s.Scheduler.GetTransactionHistory(timeOf(req.GetSince()), timeOf(req.GetUntil()))
	}
	token := ""
	if given := req.GetPageToken(); given != "" {
		number, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			return nil, invalidQuery("page_token", "expected the next_page_token of the previous page")
		}
		token = pageToken(number)
	}
	list, next := page(list, func(txn *api.RecordedTxn) string { return pageToken(txn.SeqNum) }, req.GetPageSize(), token)
	resp := &pb.ListTransactionsResponse{NextPageToken: next}
	for _, txn := range list {
		out, err := transaction(ctx, txn, req)
		if err != nil {
			return nil, err
		}
		resp.Transactions = append(resp.Transactions, out)
	}
	return resp, nil
}

// pageToken is the token of a page that ends with a transaction. Tokens are in the order of the
// transactions.
func pageToken(number uint64) string { return fmt.Sprintf("%020d", number) }

// timeOf is the zero time if t is unset.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func transaction(ctx context.Context, txn *api.RecordedTxn, req *pb.ListTransactionsRequest) (out *pb.Transaction, err error) {
	kind, err := txn.TxnType.MarshalText()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	out = &pb.Transaction{
		SequenceNumber: txn.SeqNum, Type: string(kind), Description: txn.Description, Start: timestamp(txn.Start),
		OperationCount: uint32(len(txn.Executed) + txn.OmittedOps), Reverted: txn.Reverted,
	}
	if !txn.PreRecord {
		out.Stop = timestamp(txn.Stop)
	}
	for i := range txn.Executed {
		if txn.Executed[i].NewErrMsg != "" {
			out.Failed++
		}
	}
	if req.GetItems() {
		items := txn.ByItem(int(req.GetLimit()))
		if !mayShowSecrets(ctx) {
			api.HideItemSecrets(items.List)
		}
		api.DescribeItems(items.List)
		out.Items, out.ItemCounts, out.OmittedItems = itemEffects(items.List), itemCounts(items.Counts), uint32(items.Omitted)
	}
	if req.GetOperations() {
		if !mayShowSecrets(ctx) {
			txn = txn.HideSecrets()
		}
		ops := txn.Executed
		if limit := int(req.GetLimit()); limit > 0 {
			ops = ops[:min(limit, len(ops))]
		}
		out.Operations, err = operations(ops)
	}
	return out, err
}

// operations are operations whose secrets have been hidden, if they had to be.
func operations(ops []api.RecordedTxnOp) (list []*pb.Operation, err error) {
	list = make([]*pb.Operation, len(ops))
	for i := range ops {
		op := &ops[i]
		out := &pb.Operation{
			Key: op.Key, Operation: op.Operation, PrevState: op.PrevState, NewState: op.NewState, Error: op.NewErrMsg,
			Noop: op.NOOP, Derived: op.IsDerived, Recreate: op.IsRecreate, Revert: op.IsRevert, Left: op.IsLeft, Base: op.Base, Cause: op.Cause, Start: timestamp(op.Start()),
		}
		if op.HasRun() {
			out.Duration = durationpb.New(op.Took())
		}
		var before, after error
		out.PrevValue, before = anyOf(op.PrevValue)
		out.NewValue, after = anyOf(op.NewValue)
		if err := errors.Join(before, after); err != nil {
			return nil, err
		}
		list[i] = out
	}
	return list, nil
}

// GetGraph implements the call.
func (s *service) GetGraph(ctx context.Context, req *pb.GetGraphRequest) (*pb.GetGraphResponse, error) {
	nodes := slices.DeleteFunc(s.Scheduler.GraphSnapshot(), func(n api.GraphNode) bool { return !strings.HasPrefix(n.Key, req.GetKeyPrefix()) })
	nodes, next := page(nodes, func(n api.GraphNode) string { return n.Key }, req.GetPageSize(), req.GetPageToken())
	resp := &pb.GetGraphResponse{NextPageToken: next}
	for _, n := range nodes {
		out := &pb.Node{Key: n.Key, DescriptorName: n.Descriptor, Base: n.Base, State: n.State, Error: n.Error}
		if req.GetValues() {
			var err error
			if out.Value, err = packed(ctx, n.Value); err != nil {
				return nil, err
			}
		}
		for _, e := range n.Targets {
			out.Edges = append(out.Edges, &pb.Edge{Relation: e.Relation, Label: e.Label, Keys: e.Keys, Satisfied: e.Satisfied})
		}
		resp.Nodes = append(resp.Nodes, out)
	}
	return resp, nil
}

// ListOrphans implements the call.
func (s *service) ListOrphans(ctx context.Context, _ *pb.ListOrphansRequest) (*pb.ListOrphansResponse, error) {
	if err := s.Scheduler.ReadOrphans(ctx); err != nil {
		return nil, apierr.Of(ctx, err)
	}
	resp := &pb.ListOrphansResponse{}
	for _, o := range s.Scheduler.Orphans() {
		resp.Orphans = append(resp.Orphans, &pb.Orphan{Key: o.Key, DescriptorName: o.Descriptor, Ours: o.Ours, Marked: o.Marked, Problem: o.Problem})
	}
	return resp, nil
}

// GetDrift implements the call.
func (s *service) GetDrift(ctx context.Context, req *pb.GetDriftRequest) (*pb.GetDriftResponse, error) {
	report := s.Scheduler.LastDrift()
	if req.GetDetect() {
		var err error
		if report, err = s.Scheduler.DetectDrift(ctx); err != nil {
			return nil, apierr.Of(ctx, err)
		}
	}
	if report == nil {
		return &pb.GetDriftResponse{}, nil
	}
	if !mayShowSecrets(ctx) {
		report = report.HideSecrets()
	}
	resp := &pb.GetDriftResponse{Start: timestamp(report.Start), Stop: timestamp(report.Stop), Values: uint32(report.Values), Unread: map[string]string{}}
	for _, d := range report.Drifts {
		out := &pb.Drift{Key: d.Key, Kind: string(d.Kind), Base: d.Base}
		for _, f := range d.Fields {
			out.Fields = append(out.Fields, &pb.FieldDifference{Field: f.Field, Believed: f.Believed, Found: f.Found})
		}
		resp.Drifts = append(resp.Drifts, out)
	}
	for _, u := range report.Unread {
		resp.Unread[u.Descriptor] = u.Reason
	}
	return resp, nil
}

// invalidQuery is the status of a request with one wrong field that is not for a change.
func invalidQuery(field, text string) error {
	return apierr.Violations{{Field: field, Text: text}}.QueryStatus()
}
