package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Errors about plans. Compare with errors.Is.
var (
	// ErrPlanStale: the state is not the one that the plan was made for.
	ErrPlanStale = errors.New("the plan is stale, plan again")
	// ErrPlanDamaged: a saved plan was cut, edited, or is none.
	ErrPlanDamaged = errors.New("the plan file is damaged")
	// ErrPlanVersion: a saved plan has another format, or other models.
	ErrPlanVersion = errors.New("the plan was made by another version")
	// ErrPlanHidden: the secrets of the plan are hidden, so it cannot be applied.
	ErrPlanHidden = errors.New("the secrets of the plan are hidden")
)

// Plan describes the effects of a transaction without executing it. It can be saved
// (SealPlan), and applied later (Committer.Apply) as long as nothing that it touches has
// changed.
type Plan struct {
	Created     time.Time
	Description string     `json:",omitempty"`
	Resync      ResyncType `json:",omitempty"`
	// KeepFound: the plan was made WithoutRemoval.
	KeepFound bool `json:",omitempty"`

	Values     []RecordedKVPair
	Operations []RecordedTxnOp
	// Reasons report, sorted by key, why values wait, why they are invalid, or why they
	// stay as they are, in which case there may be no operation.
	Reasons []PlanReason `json:",omitempty"`
	// Forced names, by key, the changed fields for which values are created again, such as
	// "memif.id". It lacks values that are created again for another reason.
	Forced map[string][]string `json:",omitempty"`
	// Secrets names, by key, the secrets of updated values that differ, such as
	// "memif.secret"; only in a plan that is Hidden, in which they look the same.
	Secrets map[string][]string `json:",omitempty"`

	// Conflicts are values that the southbound will refuse, sorted by key: another value has the
	// same identity and stays, or gets it, too.
	Conflicts []PlanConflict `json:",omitempty"`

	// Base is the state that the plan was made for: of all base values that it names or
	// touches, sorted by key.
	Base []PlanBase
	// Digest is the digest of Values, so that a program which decodes them differently
	// notices.
	Digest string
	// Hidden: secrets are left out, so that the plan cannot be applied.
	Hidden bool `json:",omitempty"`
}

// PlanConflict is two base values that cannot exist together; see Descriptor.Identities.
type PlanConflict struct{ Key, Other string }

// PlanReason says why a value is not to exist after the plan. Base is the key of the value that
// it is derived from; empty: it is not derived.
type PlanReason struct {
	Key, Reason string
	Base        string `json:",omitempty"`
	// Own: it only waits for other values of its item, which wait, too.
	Own bool `json:",omitempty"`
}

// PlanBase has digests of the desired and the actual value when the plan was made; empty:
// there was none.
type PlanBase struct {
	Key            string
	Wanted, Exists string `json:",omitempty"`
}

// Changes are the operations that change something: those that run a callback,
// and those that change a value, its state or its desired state.
func (p *Plan) Changes() []RecordedTxnOp {
	wanted := make(map[string]string, len(p.Base))
	for _, b := range p.Base {
		wanted[b.Key] = b.Wanted
	}
	var changes []RecordedTxnOp
	for _, op := range p.Operations {
		before, base := wanted[op.Key]
		if !op.NOOP || op.NewState != op.PrevState || base && before != ValueDigest(op.NewValue) {
			changes = append(changes, op)
		}
	}
	return changes
}

// ValueDigest is a short digest of a message with its type, the same in all processes of one
// build; empty for nil.
func ValueDigest(m proto.Message) string {
	if m == nil {
		return ""
	}
	text, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
	if err != nil {
		text = []byte(err.Error()) // text that is not UTF-8; such values are equal enough
	}
	name := string(m.ProtoReflect().Descriptor().FullName())
	return digest(appendPart(appendPart(make([]byte, 0, 512), name), text))
}

// ValuesDigest is the digest of a list of values with their keys.
func ValuesDigest(values []RecordedKVPair) string {
	h := sha256.New()
	var part []byte
	for i := range values {
		part = appendPart(part[:0], values[i].Key)
		part = appendPart(part, ValueDigest(values[i].Value))
		h.Write(part)
	}
	return shortened(h.Sum(nil))
}

func digest(parts []byte) string {
	sum := sha256.Sum256(parts)
	return shortened(sum[:])
}

// appendPart appends a part of the digested data, with its length.
func appendPart[T string | []byte](to []byte, part T) []byte {
	to = append(strconv.AppendInt(to, int64(len(part)), 10), ':')
	return append(to, part...)
}

func shortened(sum []byte) string {
	var text [32]byte
	hex.Encode(text[:], sum[:len(text)/2])
	return string(text[:])
}

// planFormat is the version of saved plans. Readers ignore unknown fields, so a field that
// has to be understood before the plan is applied needs a new version; others, such as
// Plan.Forced, do not.
const planFormat = 1

// SealedPlan is a saved plan, as SealPlan writes it.
type SealedPlan struct {
	PlanFormat int
	Sum        string // of Plan without white space
	Plan       json.RawMessage
}

// SealPlan returns the file of a plan, or of a value that contains one, as a SealedPlan.
func SealPlan(plan any) ([]byte, error) {
	body, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	return json.MarshalIndent(SealedPlan{planFormat, digest(appendPart(nil, body)), body}, "", "  ")
}

// OpenPlan reads the output of SealPlan into the same type; it ignores fields of a newer
// program. The error is an ErrPlanDamaged or an ErrPlanVersion.
func OpenPlan(data []byte, plan any) error {
	var s SealedPlan
	switch err := json.Unmarshal(data, &s); {
	case err != nil && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		return fmt.Errorf("%w: it is no plan: expected a file that \"agentctl plan --out\" wrote (a configuration is applied with -f)", ErrPlanDamaged)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrPlanDamaged, err)
	case s.PlanFormat == 0 || s.Plan == nil:
		return fmt.Errorf("%w: it has no PlanFormat or no Plan: expected a file that \"agentctl plan --out\" wrote (a configuration is applied with -f)", ErrPlanDamaged)
	case s.PlanFormat > planFormat:
		return fmt.Errorf("%w: it has format %d, and this program reads format %d; use a newer program, or plan again with this one", ErrPlanVersion, s.PlanFormat, planFormat)
	case s.PlanFormat < planFormat:
		return fmt.Errorf("%w: it has format %d, and this program reads format %d; plan again", ErrPlanVersion, s.PlanFormat, planFormat)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, s.Plan); err != nil {
		return fmt.Errorf("%w: %w", ErrPlanDamaged, err)
	}
	if digest(appendPart(nil, body.Bytes())) != s.Sum {
		return fmt.Errorf("%w: its content does not match its sum", ErrPlanDamaged)
	}
	if err := json.Unmarshal(body.Bytes(), plan); err != nil {
		return fmt.Errorf("%w: %w", ErrPlanVersion, err)
	}
	return nil
}

// StepKind is the effect of a plan on one value, as a short sign.
type StepKind string

// The kinds of steps.
const (
	StepCreate   StepKind = "+"
	StepUpdate   StepKind = "~"
	StepDelete   StepKind = "-"
	StepRecreate StepKind = "-/+"
	StepWait     StepKind = "?"
	StepWithdraw StepKind = "-?" // removed, and waits: it stays desired
	StepDrop     StepKind = "x"  // a desired value that does not exist is no longer desired
	StepNever    StepKind = "!"  // INVALID, UNIMPLEMENTED; of executed operations also FAILED, RETRYING
	StepLeft     StepKind = "="  // left as it is
)

// PlanStep is the effect of a plan on one value.
type PlanStep struct {
	Kind    StepKind
	Op      *RecordedTxnOp
	Before  proto.Message // the value that exists before; nil: none
	Reason  string        // why the value waits, or is left out; may be empty
	Forced  []string      // fields for which it is created again; see Plan.Forced
	Secrets []string      // hidden secrets that differ; see Plan.Secrets
}

// Forces reports whether a field, or the one that it is part of, makes a value be created
// again.
func (s *PlanStep) Forces(path string) bool { return forces(s.Forced, path) }

// forces reports whether a field, or the one that it is part of, is among those that make a
// value be created again.
func forces(forced []string, path string) bool {
	return slices.ContainsFunc(forced, func(f string) bool {
		rest, ok := strings.CutPrefix(path, f)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
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
		s := PlanStep{Kind: op.step(), Op: op, Before: op.PrevValue, Reason: reasons[op.Key], Secrets: p.Secrets[op.Key]}
		if s.Reason != "" && op.NOOP && (s.Kind == StepUpdate || s.Kind == StepCreate) {
			continue // it is what it is
		}
		if old, ok := replaced[op.Key]; ok && s.Kind == StepCreate {
			s.Kind, s.Before, s.Forced = StepRecreate, old, p.Forced[op.Key]
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

// Fingerprint identifies the steps of a plan and the state that it was made
// for: two plans of the same fingerprint have the same operations, for the same
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
