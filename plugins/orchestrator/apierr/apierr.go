// Package apierr makes the gRPC statuses of the services that change the configuration: those
// of invalid requests name every wrong field in a google.rpc.BadRequest.
package apierr

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// Violation is an error in a field of a request.
type Violation struct{ Field, Text string }

// Violations are the violations of one request.
type Violations []Violation

// Invalid is the status of a request with one wrong field.
func Invalid(field, text string) error { return Violations{{field, text}}.Status() }

// A status travels in a header, for which some clients accept 8 KiB.
const (
	maxInText    = 3
	maxInDetails = 20
	maxText      = 200 // bytes
)

// Status is an INVALID_ARGUMENT with the first violations in its text, and more of them in a
// google.rpc.BadRequest; nil if there are none.
func (v Violations) Status() error { return v.status("nothing was changed: ") }

// QueryStatus is Status for a request that is not for a change.
func (v Violations) QueryStatus() error { return v.status("") }

func (v Violations) status(prefix string) error {
	if len(v) == 0 {
		return nil
	}
	details, texts := &errdetails.BadRequest{}, []string{}
	for i, one := range v {
		text := shorten(one.Text)
		if i < maxInText {
			texts = append(texts, one.Field+": "+text)
		}
		if i < maxInDetails {
			details.FieldViolations = append(details.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: one.Field, Description: text})
		}
	}
	if n := len(v) - maxInText; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	st, err := status.New(codes.InvalidArgument, prefix+strings.Join(texts, "; ")).WithDetails(details)
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

// Of returns the status of an error of the orchestrator or the scheduler; nil for nil.
func Of(ctx context.Context, err error) error {
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
	case errors.Is(err, orchestrator.ErrUnknownSource):
		return codes.NotFound
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

// Semantic returns what descriptors say about messages. fields has the fields of the request
// that the messages are from.
func Semantic(invalid *api.InvalidMessagesError, fields map[proto.Message]string) (wrong Violations) {
	for _, e := range invalid.MessageErrors {
		field, ok := fields[e.Message]
		if !ok { // derived from an item
			field = fields[e.ParentMessage]
		}
		if ok && len(e.InvalidFields) > 0 {
			field += "." + e.InvalidFields[0]
		}
		wrong = append(wrong, Violation{field, e.Err.Error()})
	}
	return wrong
}
