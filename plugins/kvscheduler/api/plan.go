package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
)

// Errors about plans. Compare with errors.Is.
var (
	// ErrPlanStale: the state is not the one that the plan was made for, and
	// nothing was done; the text names the first keys that moved.
	ErrPlanStale = errors.New("the plan is stale, plan again")
	// ErrPlanDamaged: a saved plan was cut, edited, or is none.
	ErrPlanDamaged = errors.New("the plan file is damaged")
	// ErrPlanVersion: a saved plan was made by a version of the agent with
	// another format of plans, or with other models.
	ErrPlanVersion = errors.New("the plan was made by another version")
	// ErrPlanHidden: the secrets of the plan are hidden, so it is only to be looked at.
	ErrPlanHidden = errors.New("the secrets of the plan are hidden")
)

// Plan is what a transaction would do: data that can be looked at, saved
// (SealPlan) and applied later (Committer.Apply), as long as nothing that it
// touches has changed meanwhile.
type Plan struct {
	Created     time.Time
	Description string     `json:",omitempty"`
	Resync      ResyncType `json:",omitempty"`
	// KeepFound: the plan was made WithoutRemoval.
	KeepFound bool `json:",omitempty"`

	Values     []RecordedKVPair
	Operations []RecordedTxnOp
	// Reasons tell of values that the plan leaves without effect what they wait
	// for, what is wrong with them, or why they stay as they are, in which case
	// there may be no operation; sorted by key.
	Reasons []PlanReason `json:",omitempty"`

	// Base is the state that the plan was made for: of all base values that it
	// names or touches, sorted by key.
	Base []PlanBase
	// Digest is that of Values, so that a program which reads them in another
	// way notices.
	Digest string
	// Hidden: secrets are left out, so that the plan can be shown, but not applied.
	Hidden bool `json:",omitempty"`
}

// PlanReason says why a value is not to exist after the plan.
type PlanReason struct{ Key, Reason string }

// PlanBase is the state of a value when the plan was made: digests of what was
// wanted and of what was believed to exist. Empty: nothing.
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

// ValueDigest is a short digest of a message with its type; empty for nil. It
// is the same in all processes of one build.
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

// appendPart appends a part of what is digested, so that parts cannot be taken
// for each other.
func appendPart[T string | []byte](to []byte, part T) []byte {
	to = append(strconv.AppendInt(to, int64(len(part)), 10), ':')
	return append(to, part...)
}

func shortened(sum []byte) string {
	var text [32]byte
	hex.Encode(text[:], sum[:len(text)/2])
	return string(text[:])
}

// planFormat is the version of saved plans.
const planFormat = 1

// SealedPlan is a saved plan, as SealPlan writes it.
type SealedPlan struct {
	PlanFormat int
	Sum        string // of Plan without white space
	Plan       json.RawMessage
}

// SealPlan writes a plan, or what contains one, in the form of a file: JSON
// with the version of the format and a sum.
func SealPlan(plan any) ([]byte, error) {
	body, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	return json.MarshalIndent(SealedPlan{planFormat, digest(appendPart(nil, body)), body}, "", "  ")
}

// OpenPlan reads what SealPlan wrote into the same type. The error is an
// ErrPlanDamaged or an ErrPlanVersion.
func OpenPlan(data []byte, plan any) error {
	var s SealedPlan
	switch err := json.Unmarshal(data, &s); {
	case err != nil && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		return fmt.Errorf("%w: it is no plan: expected a file that \"agentctl plan -o\" wrote (a configuration is applied with -f)", ErrPlanDamaged)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrPlanDamaged, err)
	case s.PlanFormat == 0 || s.Plan == nil:
		return fmt.Errorf("%w: it has no PlanFormat or no Plan: expected a file that \"agentctl plan -o\" wrote (a configuration is applied with -f)", ErrPlanDamaged)
	case s.PlanFormat != planFormat:
		return fmt.Errorf("%w: format %d, expected %d; plan again with this one", ErrPlanVersion, s.PlanFormat, planFormat)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, s.Plan); err != nil {
		return fmt.Errorf("%w: %w", ErrPlanDamaged, err)
	}
	if digest(appendPart(nil, body.Bytes())) != s.Sum {
		return fmt.Errorf("%w: its content does not match its sum", ErrPlanDamaged)
	}
	d := json.NewDecoder(&body)
	d.DisallowUnknownFields()
	if err := d.Decode(plan); err != nil {
		return fmt.Errorf("%w: %w", ErrPlanVersion, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w: something follows the plan", ErrPlanDamaged)
	}
	return nil
}
