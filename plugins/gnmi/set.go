package gnmi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Set implements the call: one transaction, which is reverted if a value fails. Values that wait
// for dependencies are not failures.
func (s *service) Set(ctx context.Context, req *gpb.SetRequest) (*gpb.SetResponse, error) {
	if err := s.checkSet(req); err != nil {
		return nil, err
	}
	o := orchestrator.ApplyOptions{Revert: true, Caller: callerOf(ctx)}
	done, err := s.commit(ctx, req, &o)
	if err != nil {
		return nil, err
	}
	if !done {
		_, _, err := s.Orchestrator.PlanAndApply(ctx, func() (*orchestrator.Plan, error) { return s.plan(ctx, req) }, o)
		if err != nil {
			return nil, apierr.Of(ctx, err)
		}
	}
	return setResponse(req), nil
}

func (s *service) checkSet(req *gpb.SetRequest) error {
	if err := checkExtensions(req.GetExtension(), isCommit); err != nil {
		return err
	}
	if len(req.GetUnionReplace()) > 0 && len(req.GetDelete())+len(req.GetReplace())+len(req.GetUpdate()) > 0 {
		return apierr.Invalid("union_replace", "excludes delete, replace and update")
	}
	return s.checkPrefix(req.GetPrefix())
}

// callerOf returns the client of a call.
func callerOf(ctx context.Context) (c orchestrator.Caller) {
	c.User, c.Addr = grpc.Caller(ctx)
	return c
}

// plan plans the change of a request.
func (s *service) plan(ctx context.Context, req *gpb.SetRequest) (*orchestrator.Plan, error) {
	c := s.newChange()
	c.make(req)
	if err := c.validate(); err != nil {
		return nil, err
	}
	opts := []orchestrator.PushOption{orchestrator.WithCaller(callerOf(ctx)), orchestrator.WithDescription("gNMI Set")}
	if c.union {
		opts = append(opts, orchestrator.WithResync())
	}
	var items []orchestrator.KeyVal
	for _, key := range slices.Sorted(maps.Keys(c.items)) {
		items = append(items, orchestrator.KeyVal{Key: key, Val: c.items[key]})
	}
	plan, err := s.Orchestrator.PlanData(ctx, orchestrator.GRPC, items, opts...)
	if err != nil {
		return nil, err
	}
	if key := c.moved(); key != "" {
		return nil, fmt.Errorf("%w: %s was changed", api.ErrPlanStale, key)
	}
	return plan, c.implemented(plan)
}

// validate returns the status of an invalid change.
func (c *change) validate() error {
	messages := make([]proto.Message, 0, len(c.items))
	fields := make(map[proto.Message]string, len(c.items))
	for key, item := range c.items {
		if item != nil {
			messages = append(messages, item)
			fields[item] = c.fields[key]
		}
	}
	var invalid *api.InvalidMessagesError
	if err := c.Scheduler.ValidateSemantically(messages); errors.As(err, &invalid) {
		c.wrong = append(c.wrong, apierr.Semantic(invalid, fields)...)
	} else if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if err := c.wrong.Status(); err != nil {
		return err
	}
	return c.foreign
}

// implemented rejects a plan with items that no plugin handles: they never come into effect.
func (c *change) implemented(plan *orchestrator.Plan) error {
	for i := range plan.Changes.Operations {
		op := &plan.Changes.Operations[i]
		if field := c.fields[op.Key]; field != "" && op.NewState == kvspb.ValueState_UNIMPLEMENTED {
			return status.Errorf(codes.FailedPrecondition, "nothing was changed: %s: no plugin handles %s", field, op.Key)
		}
	}
	return nil
}

func setResponse(req *gpb.SetRequest) *gpb.SetResponse {
	resp := &gpb.SetResponse{Prefix: req.GetPrefix(), Timestamp: time.Now().UnixNano()}
	add := func(p *gpb.Path, op gpb.UpdateResult_Operation) {
		resp.Response = append(resp.Response, &gpb.UpdateResult{Path: p, Op: op})
	}
	for _, p := range req.GetDelete() {
		add(p, gpb.UpdateResult_DELETE)
	}
	for _, u := range req.GetReplace() {
		add(u.GetPath(), gpb.UpdateResult_REPLACE)
	}
	for _, u := range req.GetUpdate() {
		add(u.GetPath(), gpb.UpdateResult_UPDATE)
	}
	for _, u := range req.GetUnionReplace() {
		add(u.GetPath(), gpb.UpdateResult_UNION_REPLACE)
	}
	return resp
}
