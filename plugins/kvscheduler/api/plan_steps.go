package api

import (
	"crypto/sha256"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// StepKind is what a plan does with one value, as a short sign.
type StepKind string

// The kinds of steps.
const (
	StepCreate   StepKind = "+"
	StepUpdate   StepKind = "~"
	StepDelete   StepKind = "-"
	StepRecreate StepKind = "-/+"
	StepWait     StepKind = "?"
	StepDrop     StepKind = "x" // a desired value that does not exist is not desired any more
	StepNever    StepKind = "!" // INVALID, UNIMPLEMENTED
	StepLeft     StepKind = "=" // left as it is
)

// PlanStep is what a plan does with one value.
type PlanStep struct {
	Kind   StepKind
	Op     *RecordedTxnOp
	Before proto.Message // the value that exists before; nil: none
	Reason string        // why the value waits, or is left out; may be empty
}

// Steps yields the operations, with the two of a re-creation as one, and then the
// values that are left as they are, without Op, with their keys and reasons.
func (p *Plan) Steps(step func(PlanStep), left func(PlanReason)) {
	reasons := make(map[string]string, len(p.Reasons))
	for _, r := range p.Reasons {
		reasons[r.Key] = r.Reason
	}
	replaced := map[string]proto.Message{}
	for i := range p.Operations {
		op := &p.Operations[i]
		if op.IsRecreate && op.Operation == kvscheduler.TxnOperation_DELETE {
			replaced[op.Key] = op.PrevValue
			continue
		}
		s := PlanStep{Kind: op.step(), Op: op, Before: op.PrevValue, Reason: reasons[op.Key]}
		if s.Reason != "" && op.NOOP && (s.Kind == StepUpdate || s.Kind == StepCreate) {
			continue // it is what it is
		}
		if old, ok := replaced[op.Key]; ok && s.Kind == StepCreate {
			s.Kind, s.Before = StepRecreate, old
		}
		delete(reasons, op.Key)
		step(s)
	}
	for _, r := range p.Reasons { // in the order of keys
		if reasons[r.Key] != "" {
			left(r)
		}
	}
}

func (op *RecordedTxnOp) step() StepKind {
	switch {
	case op.Operation == kvscheduler.TxnOperation_DELETE && op.NOOP:
		return StepDrop
	case op.Operation == kvscheduler.TxnOperation_DELETE:
		return StepDelete
	case op.NewState == kvscheduler.ValueState_PENDING:
		return StepWait
	case op.NewState == kvscheduler.ValueState_INVALID, op.NewState == kvscheduler.ValueState_UNIMPLEMENTED:
		return StepNever
	case op.Operation == kvscheduler.TxnOperation_CREATE:
		return StepCreate
	}
	return StepUpdate
}

// Fingerprint identifies what a plan does and the state that it was made for:
// two plans of the same fingerprint have the same operations, for the same
// values, from the same state.
func (p *Plan) Fingerprint() string {
	h := sha256.New()
	var part []byte
	add := func(texts ...string) {
		part = part[:0]
		for _, text := range texts {
			part = appendPart(part, text)
		}
		h.Write(part)
	}
	add(p.Resync.String(), fmt.Sprint(p.KeepFound), p.Digest, fmt.Sprint(len(p.Base)))
	for i := range p.Base {
		add(p.Base[i].Key, p.Base[i].Wanted, p.Base[i].Exists)
	}
	for i := range p.Operations {
		op := &p.Operations[i]
		add(op.Key, op.Operation.String(), op.PrevState.String(), op.NewState.String(), flags(op.NOOP, op.IsRecreate, op.IsDerived))
		if op.IsDerived { // the others are in Base and Digest
			add(ValueDigest(op.NewValue), ValueDigest(op.PrevValue))
		}
	}
	return shortened(h.Sum(nil))
}

// Fingerprint is the digest of a list of texts.
func Fingerprint(texts ...string) string {
	var parts []byte
	for _, text := range texts {
		parts = appendPart(parts, text)
	}
	return digest(parts)
}

func flags(all ...bool) string {
	text := make([]byte, len(all))
	for i, set := range all {
		text[i] = '0'
		if set {
			text[i] = '1'
		}
	}
	return string(text)
}
