package api

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Records, plans and reports hold values with their secrets. Their methods HideSecrets return
// the same if there is no secret in it, else a copy with hidden secrets.

// HideSecrets returns the transaction without secrets.
func (t *RecordedTxn) HideSecrets() *RecordedTxn {
	var h hider
	shown := *t
	shown.Values, shown.Planned, shown.Executed = h.pairs(t.Values), h.ops(t.Planned), h.ops(t.Executed)
	if !h.hidden {
		return t
	}
	return &shown
}

// HideSecrets returns the plan without secrets, marked as Hidden if there are any.
func (p *Plan) HideSecrets() *Plan {
	var h hider
	shown := *p
	shown.Values, shown.Operations = h.pairs(p.Values), h.ops(p.Operations)
	if !h.hidden {
		return p
	}
	shown.Hidden, shown.Secrets = true, changedSecrets(p.Operations)
	return &shown
}

// changedSecrets returns, by key, the secrets that operations change.
func changedSecrets(ops []RecordedTxnOp) map[string][]string {
	changed := map[string][]string{}
	removed := map[string]proto.Message{} // values that are created again
	for i := range ops {
		op := &ops[i]
		before := cmp.Or(op.PrevValue, removed[op.Key])
		if op.NewValue == nil {
			removed[op.Key] = before
		} else if secrets := logging.ChangedSecrets(before, op.NewValue); len(secrets) > 0 {
			changed[op.Key] = secrets
		}
	}
	return changed
}

// HideSecrets returns the report without secrets.
func (r *DriftReport) HideSecrets() *DriftReport {
	var h hider
	shown := *r
	shown.Drifts = slices.Clone(r.Drifts)
	for i := range shown.Drifts {
		d := &shown.Drifts[i]
		d.Believed.Message, d.Found.Message = h.value(d.Believed.Message), h.value(d.Found.Message)
	}
	if !h.hidden {
		return r
	}
	return &shown
}

// HideSecrets returns the key and value without secrets.
func (kv RecordedKVPair) HideSecrets() RecordedKVPair {
	var h hider
	kv.Value = h.value(kv.Value)
	return kv
}

// HideSecrets returns the orphan without secrets.
func (o Orphan) HideSecrets() Orphan {
	var h hider
	o.Value.Message = h.value(o.Value.Message)
	return o
}

// hider hides secrets and notes whether there were any.
type hider struct{ hidden bool }

func (h *hider) value(m proto.Message) proto.Message {
	shown, hidden := logging.HideSecrets(m)
	h.hidden = h.hidden || hidden
	return shown
}

func (h *hider) pairs(kvs []RecordedKVPair) []RecordedKVPair {
	shown := slices.Clone(kvs)
	for i := range shown {
		shown[i].Value = h.value(shown[i].Value)
	}
	return shown
}

func (h *hider) ops(ops []RecordedTxnOp) []RecordedTxnOp {
	shown := slices.Clone(ops)
	for i := range shown {
		shown[i].NewValue, shown[i].PrevValue = h.value(shown[i].NewValue), h.value(shown[i].PrevValue)
	}
	return shown
}
