package agentapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// violation is what is wrong with a field of a request.
type violation struct{ field, text string }

type violations []violation

// A status travels in a header, for which some clients accept 8 KiB.
const (
	maxInText    = 3
	maxInDetails = 20
	maxText      = 200 // bytes
)

// status is an INVALID_ARGUMENT with the first violations in its text, and more of them in a
// google.rpc.BadRequest; nil if there are none.
func (v violations) status() error {
	if len(v) == 0 {
		return nil
	}
	details, texts := &errdetails.BadRequest{}, []string{}
	for i, one := range v {
		text := shorten(one.text)
		if i < maxInText {
			texts = append(texts, one.field+": "+text)
		}
		if i < maxInDetails {
			details.FieldViolations = append(details.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: one.field, Description: text})
		}
	}
	if n := len(v) - maxInText; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	st, err := status.New(codes.InvalidArgument, "nothing was changed: "+strings.Join(texts, "; ")).WithDetails(details)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return st.Err()
}

func shorten(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// statusOf returns the status of an error of the orchestrator or the scheduler; nil for nil.
func statusOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, orchestrator.ErrQueueFull) {
		st := status.New(codes.ResourceExhausted, err.Error())
		if with, werr := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(orchestrator.RetryAfter(err))}); werr == nil {
			st = with
		}
		return st.Err()
	}
	return status.Error(codeOf(ctx, err), shortList(err))
}

func codeOf(ctx context.Context, err error) codes.Code {
	switch {
	case errors.Is(err, orchestrator.ErrInvalidItems):
		return codes.InvalidArgument
	case errors.Is(err, api.ErrPlanStale):
		return codes.Aborted
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Code()
	case errors.Is(err, orchestrator.ErrWithdrawn), errors.Is(err, api.ErrClosedScheduler):
		return codes.Unavailable
	}
	return codes.FailedPrecondition
}

// shortList is the text of an error. Of a transaction that was reverted it names the first
// values that failed.
func shortList(err error) string {
	var txn *api.TransactionError
	if !errors.As(err, &txn) || len(txn.GetKVErrors()) == 0 {
		return err.Error()
	}
	var texts []string
	for i, kv := range txn.GetKVErrors() {
		if i == maxInText {
			texts = append(texts, fmt.Sprintf("and %d more", len(txn.GetKVErrors())-i))
			break
		}
		texts = append(texts, fmt.Sprintf("%s: %s: %s", kv.Key, strings.ToLower(kv.TxnOperation.String()), shorten(kv.Error.Error())))
	}
	text := strings.Join(texts, "; ")
	if txn.Reverted() {
		text = "the change was reverted: " + text
	}
	if n := len(txn.NotReverted()); n > 0 {
		text += fmt.Sprintf("; %d values could not be reverted", n)
	}
	return text
}
