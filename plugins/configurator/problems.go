package configurator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// problem is what is wrong with one item.
type problem struct {
	path, key, state, text string
}

func (p problem) String() string {
	where := p.path
	if where == "" {
		where = p.key
	}
	if p.text == "" {
		return where + ": " + p.state
	}
	return where + ": " + p.text
}

type problems []problem

// Bounds on a status, which travels in a header: some clients accept 8 KiB.
const (
	maxProblemsInText = 5
	maxProblemText    = 250     // bytes
	maxDetails        = 3 << 10 // bytes
)

// status makes a status of problems, nil if there are none. The first of them
// are in its text, and as many as fit, with their keys, in a SetConfigResponse
// among its details.
func (ps problems) status(code codes.Code, what string) error {
	if len(ps) == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString(what)
	for i, p := range ps {
		switch {
		case i < maxProblemsInText:
			text.WriteString("; " + shorten(p.String()))
		case i == maxProblemsInText:
			fmt.Fprintf(&text, "; and %d more", len(ps)-i)
		}
	}
	return ps.detailed(code, text.String())
}

// detailed makes a status with a text and the problems among its details, as many as fit.
func (ps problems) detailed(code codes.Code, text string) error {
	details := &generic.SetConfigResponse{}
	for _, p := range ps {
		r := &generic.UpdateResult{Key: shorten(p.key), Status: &generic.ItemStatus{Status: p.state, Message: shorten(p.String())}}
		if proto.Size(details)+proto.Size(r) < maxDetails {
			details.Results = append(details.Results, r)
		}
	}
	st := status.New(code, text)
	if with, err := st.WithDetails(details); err == nil { // without, the text is still there
		st = with
	}
	return st.Err()
}

func shorten(text string) string { return shortenTo(text, maxProblemText) }

func shortenTo(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// failed is the status of a change that partly failed.
func failed(err *api.TransactionError, items []item, results []orchestrator.Result) error {
	known := make(map[string]problem, len(items))
	for i, it := range items {
		p := problem{path: it.path, key: it.Key, state: kvspb.ValueState_FAILED.String()}
		if i < len(results) && results[i].Status != nil {
			p.state = results[i].Status.GetValue().GetState().String()
		}
		known[it.Key] = p
	}
	var ps problems
	var list []string
	for _, kv := range err.GetKVErrors() {
		p, ok := known[kv.Key]
		if !ok { // derived from an item, or of another client
			p = problem{key: kv.Key, state: kvspb.ValueState_FAILED.String()}
		}
		p.text = fmt.Sprintf("%s: %v", strings.ToLower(kv.TxnOperation.String()), kv.Error)
		if p.path != "" {
			p.text = kv.Key + ": " + p.text
		}
		ps = append(ps, p)
		list = append(list, shorten(fmt.Sprintf("%s (%s): %v", kv.Key, kv.TxnOperation, kv.Error)))
	}
	// Programs look for this text, which is the predecessor's.
	what := "KeyErrors: [" + firstOf(list) + "]"
	if err.Reverted() {
		what += "; everything was reverted"
	}
	if n := len(err.NotReverted()); n > 0 {
		what += fmt.Sprintf(" but for %d", n)
	}
	return ps.detailed(codes.FailedPrecondition, what)
}

// unimplemented is the status of a change with items that no plugin, or not this VPP,
// can put into effect; nil if there are none.
func (p *Plugin) unimplemented(ctx context.Context, items []item, results []orchestrator.Result) error {
	source := orchestrator.GRPC
	if from, err := originOf(ctx, ""); err == nil {
		source = from.source
	}
	effects, _ := orchestrator.Effects(source, results)
	var ps problems
	var list []string
	for i, e := range effects {
		if e.State == kvspb.ValueState_UNIMPLEMENTED && items[i].Val != nil {
			ps = append(ps, problem{items[i].path, items[i].Key, e.State.String(), e.Reason})
			list = append(list, shorten(items[i].Key+": "+e.Reason))
		}
	}
	switch len(ps) {
	case 0:
		return nil
	case 1:
		return ps.detailed(codes.FailedPrecondition, "accepted, but 1 value is UNIMPLEMENTED: "+list[0])
	}
	return ps.detailed(codes.FailedPrecondition, fmt.Sprintf("accepted, but %d values are UNIMPLEMENTED: %s", len(ps), firstOf(list)))
}

// firstOf joins the first texts of a list and counts the others.
func firstOf(list []string) string {
	if n := len(list); n > maxProblemsInText {
		list = append(list[:maxProblemsInText:maxProblemsInText], fmt.Sprintf("and %d more", n-maxProblemsInText))
	}
	return strings.Join(list, ", ")
}

// asFailed finds the error of a change that partly failed.
func asFailed(err error) (*api.TransactionError, bool) {
	var txn *api.TransactionError
	ok := errors.As(err, &txn)
	return txn, ok
}
