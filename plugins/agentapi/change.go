package agentapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// Plan implements the call.
func (s *service) Plan(ctx context.Context, req *pb.PlanRequest) (*pb.PlanResponse, error) {
	plan, err := s.plan(ctx, req.GetChange())
	if err != nil {
		return nil, err
	}
	ref := plan.Shown(int(req.GetLimit()), mayShowSecrets(ctx))
	resp := &pb.PlanResponse{
		Fingerprint: ref.Fingerprint, Omitted: uint32(ref.Omitted), Findings: findings(plan), Items: itemEffects(ref.Effects),
		ItemCounts: itemCounts(ref.ItemCounts), OmittedItems: uint32(ref.OmittedItems), Kept: uint32(ref.Kept), KeptKeys: ref.KeptItems,
		Overrides: overrides(ref.Overrides), Overridden: uint32(ref.Overridden),
	}
	if resp.Operations, err = operations(ref.Changes.Operations); err != nil {
		return nil, err
	}
	for _, op := range resp.Operations {
		if op.GetOperation() != kvscheduler.TxnOperation_DELETE {
			op.ChangedSecrets = ref.Changes.Secrets[op.GetKey()]
		}
		if op.GetRecreate() && op.GetOperation() == kvscheduler.TxnOperation_CREATE {
			op.ForcedBy = ref.Changes.Forced[op.GetKey()]
		}
	}
	for _, r := range slices.Concat(ref.Left, ref.Changes.Reasons) {
		resp.Reasons = append(resp.Reasons, &pb.Reason{Key: r.Key, Reason: r.Reason})
	}
	slices.SortStableFunc(resp.Reasons, func(a, b *pb.Reason) int { return strings.Compare(a.Key, b.Key) })
	return resp, nil
}

// findings returns the constraints that the items of a plan violate.
func findings(plan *orchestrator.Plan) (list []*pb.Finding) {
	for _, f := range plan.Findings {
		list = append(list, &pb.Finding{Key: f.Key, Field: f.Field, Error: f.Refused, Text: f.Text, Constraint: f.Constraint, Other: f.Other})
	}
	return list
}

// overrides returns the items of other sources that a change overrides.
func overrides(items []response.Override) (list []*pb.Override) {
	for _, o := range items {
		list = append(list, &pb.Override{Key: o.Key, Source: o.Source, Location: o.Location})
	}
	return list
}

func (s *service) plan(ctx context.Context, change *pb.Change) (*orchestrator.Plan, error) {
	items, err := s.items(change)
	if err != nil {
		return nil, err
	}
	opts := []orchestrator.PushOption{orchestrator.WithCaller(callerOf(ctx))}
	if change.GetReplace() {
		opts = append(opts, orchestrator.WithResync())
	}
	plan, err := s.Orchestrator.PlanData(ctx, orchestrator.GRPC, items, opts...)
	return plan, apierr.Of(ctx, err)
}

// Apply implements the call.
func (s *service) Apply(ctx context.Context, req *pb.ApplyRequest) (*pb.ApplyResponse, error) {
	o, err := applyOptions(ctx, req)
	if err != nil {
		return nil, err
	}
	plan, applied, err := s.Orchestrator.PlanAndApply(ctx, func() (*orchestrator.Plan, error) {
		plan, err := s.plan(ctx, req.GetChange())
		if want := req.GetFingerprint(); err == nil && want != "" && plan.Reference(1).Fingerprint != want {
			return nil, status.Error(codes.Aborted, "the change would have other effects now than the plan with this fingerprint; plan again")
		}
		return plan, err
	}, o)
	var failed *api.TransactionError
	if err != nil && (!errors.As(err, &failed) || failed.GetTxnInitError() != nil || failed.Reverted()) {
		return nil, apierr.Of(ctx, err)
	}
	return s.applied(ctx, req, plan, applied)
}

// applied returns the response to a change that was made, after the wait that it asks for.
func (s *service) applied(ctx context.Context, req *pb.ApplyRequest, plan *orchestrator.Plan, applied orchestrator.Applied) (*pb.ApplyResponse, error) {
	if req.GetWait() {
		if err := s.wait(ctx, plan, applied.Results); err != nil {
			return nil, err
		}
	}
	effects, summary := orchestrator.Effects(plan.Source, applied.Results)
	resp := &pb.ApplyResponse{Summary: summary.Text, CommitId: applied.CommitID, Findings: findings(plan)}
	if applied.SeqNum != api.NoSeqNum {
		resp.Transaction = &applied.SeqNum
	}
	if !applied.ConfirmBy.IsZero() {
		resp.ConfirmBy = timestamppb.New(applied.ConfirmBy)
	}
	overridden, all := s.Orchestrator.Overrides(plan)
	resp.Overrides, resp.Overridden = overrides(overridden), uint32(all)
	shown, omitted := mostImportant(effects, int(cmp.Or(req.GetLimit(), maxResults)))
	resp.Omitted = uint32(omitted)
	for _, i := range shown {
		r := applied.Results[i]
		out := &pb.ItemResult{Key: r.Key, State: effects[i].State, Source: r.Source, Reason: effects[i].Reason}
		if r.Err != nil {
			out.Error = r.Err.Error()
		}
		resp.Results = append(resp.Results, out)
	}
	return resp, nil
}

// maxResults is the default of ApplyRequest.limit.
const maxResults = 10_000

// mostImportant returns the indexes of at most limit effects, and how many are left out.
// If there are more, effects on items that are not in effect come first.
func mostImportant(effects []orchestrator.Effect, limit int) (shown []int, omitted int) {
	var inEffect []int
	for i, e := range effects {
		if e.InEffect() && len(effects) > limit {
			inEffect = append(inEffect, i)
		} else {
			shown = append(shown, i)
		}
	}
	shown = append(shown, inEffect...)
	limit = min(limit, len(shown))
	return shown[:limit], len(shown) - limit
}

// wait waits for the items of a plan, and brings their results up to date.
func (s *service) wait(ctx context.Context, plan *orchestrator.Plan, results []orchestrator.Result) error {
	items := make([]orchestrator.KeyVal, len(plan.Items))
	for i, it := range plan.Items {
		items[i] = orchestrator.KeyVal{Key: it.Key, Val: it.Value}
	}
	err := s.Orchestrator.WaitFor(ctx, items, results)
	if ctx.Err() != nil || errors.Is(err, api.ErrClosedScheduler) {
		return apierr.Of(ctx, err)
	}
	for i := range results { // a value that can never be in effect ends the wait: the results show it
		results[i] = s.Orchestrator.Status(results[i].Key)
	}
	return nil
}

func applyOptions(ctx context.Context, req *pb.ApplyRequest) (o orchestrator.ApplyOptions, err error) {
	o = orchestrator.ApplyOptions{Revert: req.GetRevertOnFailure(), Verify: req.GetVerify(), Caller: callerOf(ctx)}
	if d := req.GetConfirmTimeout(); d != nil {
		if o.ConfirmTimeout = d.AsDuration(); d.CheckValid() != nil || o.ConfirmTimeout < 0 {
			return o, apierr.Invalid("confirm_timeout", fmt.Sprintf("%v: expected a positive duration, or 0 for no confirmation", d.AsDuration()))
		}
	}
	if o.CommitID = req.GetCommitId(); o.CommitID != "" && o.ConfirmTimeout == 0 {
		return o, apierr.Invalid("commit_id", "expected together with confirm_timeout")
	}
	return o, nil
}

// Confirm implements the call.
func (s *service) Confirm(ctx context.Context, req *pb.ConfirmRequest) (*pb.ConfirmResponse, error) {
	seq, err := s.Orchestrator.ConfirmCommit(req.GetCommitId())
	if err != nil {
		return nil, apierr.Of(ctx, err)
	}
	resp := &pb.ConfirmResponse{}
	if seq != api.NoSeqNum {
		resp.Transaction = &seq
	}
	return resp, nil
}

// Cancel implements the call.
func (s *service) Cancel(ctx context.Context, req *pb.CancelRequest) (*pb.CancelResponse, error) {
	if err := s.Orchestrator.CancelCommit(ctx, req.GetCommitId()); err != nil {
		return nil, apierr.Of(ctx, err)
	}
	return &pb.CancelResponse{}, nil
}

// AcceptSource implements the call.
func (s *service) AcceptSource(ctx context.Context, req *pb.AcceptSourceRequest) (*pb.AcceptSourceResponse, error) {
	if req.GetSource() == "" {
		return nil, apierr.Invalid("source", "expected the name of a store, such as etcd")
	}
	changes, err := s.Orchestrator.AcceptSource(ctx, req.GetSource(), callerOf(ctx))
	if err != nil {
		return nil, apierr.Of(ctx, err)
	}
	return &pb.AcceptSourceResponse{Changes: uint32(changes)}, nil
}

// items reads and validates the items of a change.
func (s *service) items(change *pb.Change) ([]orchestrator.KeyVal, error) {
	items := make([]orchestrator.KeyVal, 0, len(change.GetItems())+len(change.GetRemove()))
	fields := make(map[string]string, cap(items)) // by key
	byMessage := make(map[proto.Message]string, cap(items))
	messages := make([]proto.Message, 0, cap(items))
	var wrong apierr.Violations
	add := func(field string, it orchestrator.KeyVal, err error) {
		if before := fields[it.Key]; err == nil && before != "" {
			err = fmt.Errorf("key %s: the same item as %s", it.Key, before)
		}
		if err != nil {
			wrong = append(wrong, apierr.Violation{Field: field, Text: err.Error()})
			return
		}
		fields[it.Key] = field
		items = append(items, it)
		if it.Val != nil {
			byMessage[it.Val] = field + ".value"
			messages = append(messages, it.Val)
		}
	}
	for i, it := range change.GetItems() {
		kv, err := s.item(it)
		add(fmt.Sprintf("change.items[%d]", i), kv, err)
	}
	for i, key := range change.GetRemove() {
		_, err := s.model(key)
		add(fmt.Sprintf("change.remove[%d]", i), orchestrator.KeyVal{Key: key}, err)
	}
	var invalid *api.InvalidMessagesError
	if err := s.Scheduler.ValidateSemantically(messages); errors.As(err, &invalid) {
		wrong = append(wrong, apierr.Semantic(invalid, byMessage)...)
	} else if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return items, wrong.Status()
}

// item reads an item.
func (s *service) item(it *pb.Item) (kv orchestrator.KeyVal, err error) {
	if it.GetValue() == nil {
		return kv, errors.New("value: expected a message of a model; change.remove removes items")
	}
	if kv.Val, err = it.GetValue().UnmarshalNew(); errors.Is(err, protoregistry.NotFound) {
		return kv, fmt.Errorf("value: %s", s.unknownType(it.GetValue().GetTypeUrl()))
	} else if err != nil {
		return kv, fmt.Errorf("value: %s: %w", it.GetValue().GetTypeUrl(), err)
	}
	if kv.Key, err = s.Orchestrator.Models().KeyOf(kv.Val); err != nil {
		return kv, fmt.Errorf("value: %w", err)
	}
	if key := it.GetKey(); key != "" && key != kv.Key {
		return kv, fmt.Errorf("key %s does not belong to the value, whose key is %s", key, kv.Key)
	}
	kv.Val = s.Orchestrator.RestoreSecrets(orchestrator.GRPC, kv.Key, kv.Val)
	return kv, nil
}

func (s *service) model(key string) (name string, err error) {
	m, ok := s.Orchestrator.Models().ForKey(key)
	if !ok || !m.Matches(key) {
		return "", fmt.Errorf("key %q: no model has such keys", key)
	}
	return m.Spec().ModelName(), nil
}

// timestamp is unset for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
