package gnmi

import (
	"context"
	"errors"
	"fmt"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	ext "github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

// defaultRollback is the rollback duration of requests that have none, by the specification of
// the extension.
const defaultRollback = 10 * time.Minute

func isCommit(e *ext.Extension) bool { return e.GetCommit() != nil }

// commit handles the commit extension. done reports that there is nothing else to do;
// otherwise o has what the extension asks for.
func (s *service) commit(ctx context.Context, req *gpb.SetRequest, o *orchestrator.ApplyOptions) (done bool, err error) {
	field, c, err := commitOf(req)
	if c == nil || err != nil {
		return false, err
	}
	if begin, ok := c.GetAction().(*ext.Commit_Commit); ok {
		o.CommitID = c.GetId()
		o.ConfirmTimeout, err = rollback(field+".commit", begin.Commit.GetRollbackDuration())
		return false, err
	}
	if len(req.GetDelete())+len(req.GetReplace())+len(req.GetUpdate())+len(req.GetUnionReplace()) > 0 {
		return false, apierr.Invalid(field, "confirm, cancel and set_rollback_duration exclude changes in the same request")
	}
	switch action := c.GetAction().(type) {
	case *ext.Commit_Confirm:
		_, err = s.Orchestrator.ConfirmCommit(c.GetId())
	case *ext.Commit_Cancel:
		err = s.Orchestrator.CancelCommit(ctx, c.GetId())
	case *ext.Commit_SetRollbackDuration:
		var d time.Duration
		if d, err = rollback(field+".set_rollback_duration", action.SetRollbackDuration.GetRollbackDuration()); err == nil {
			err = s.Orchestrator.ExtendCommit(c.GetId(), d)
		}
	default:
		err = apierr.Invalid(field, "expected commit, confirm, cancel or set_rollback_duration")
	}
	if errors.Is(err, orchestrator.ErrOtherCommit) {
		err = status.Errorf(codes.InvalidArgument, "%s.id: %v", field, err)
	}
	return true, apierr.Of(ctx, err)
}

// commitOf returns the commit extension of a request and its field; nil if there is none.
func commitOf(req *gpb.SetRequest) (field string, c *ext.Commit, err error) {
	for i, e := range req.GetExtension() {
		if c != nil {
			return field, nil, apierr.Invalid(fmt.Sprintf("extension[%d]", i), "a second commit")
		}
		field, c = fmt.Sprintf("extension[%d].commit", i), e.GetCommit()
	}
	if c != nil && c.GetId() == "" {
		return field, nil, apierr.Invalid(field+".id", "expected an ID")
	}
	return field, c, nil
}

func rollback(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return defaultRollback, nil
	}
	if d.CheckValid() != nil || d.AsDuration() <= 0 {
		return 0, apierr.Invalid(field+".rollback_duration", fmt.Sprintf("%v: expected a positive duration", d.AsDuration()))
	}
	return d.AsDuration(), nil
}
