package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// ErrUnconfirmed: a change still waits to be confirmed; until then, or until it
// is taken back, no other plan is applied. Compare with errors.Is.
var ErrUnconfirmed = errors.New("a change waits to be confirmed")

// Plan is a change of what a source wants, with all that it would do. It can be
// saved with api.SealPlan.
type Plan struct {
	Source string
	// Items are what the source asks for anew; a nil Value is given up.
	Items []api.RecordedKVPair
	// Left are the items that have no effect, or values that a rollback cannot
	// restore, and why; sorted by key.
	Left []api.PlanReason `json:",omitempty"`
	// Changes is what the scheduler would do.
	Changes *api.Plan

	// Of a plan by reference: what it does is identified by the fingerprint, and only
	// a part of it is there to be looked at. Such a plan cannot be applied itself; its
	// request can, with the fingerprint.
	Fingerprint string               `json:",omitempty"`
	Counts      map[api.StepKind]int `json:",omitempty"` // of all steps
	Changed     int                  `json:",omitempty"` // operations that change something
	Omitted     int                  `json:",omitempty"` // operations and reasons that are not there
}

// fingerprint identifies the plan; see api.Plan.
func (p *Plan) fingerprint() string {
	left := make([]string, 0, 2*len(p.Left))
	for _, l := range p.Left {
		left = append(left, l.Key, l.Reason)
	}
	return api.Fingerprint(append(left, p.Source, api.ValuesDigest(p.Items), p.Changes.Fingerprint())...)
}

// reference returns the plan by reference, with so many operations and reasons at
// most; 0 is all of them.
func (p *Plan) reference(limit int) *Plan {
	ref := &Plan{Source: p.Source, Fingerprint: p.fingerprint(), Counts: map[api.StepKind]int{}, Changed: len(p.Changes.Changes())}
	p.Changes.Steps(func(s api.PlanStep) { ref.Counts[s.Kind]++ }, func(api.PlanReason) { ref.Counts[api.StepLeft]++ })
	ref.Counts[api.StepLeft] += len(p.Left)
	changes := *p.Changes
	changes.Values, changes.Base = nil, nil
	ref.Changes, ref.Left = &changes, p.Left
	if limit == 0 || len(changes.Operations) <= limit && len(changes.Reasons) <= limit && len(p.Left) <= limit {
		return ref
	}
	changes.Operations = changes.Operations[:min(limit, len(changes.Operations))]
	kept := make(map[string]bool, len(changes.Operations))
	for i := range changes.Operations {
		kept[changes.Operations[i].Key] = true
	}
	changes.Reasons = nil
	for _, r := range p.Changes.Reasons {
		if kept[r.Key] {
			changes.Reasons = append(changes.Reasons, r)
		}
	}
	ref.Left = p.Left[:min(limit, len(p.Left))]
	ref.Omitted = len(p.Changes.Operations) - len(changes.Operations) + len(p.Left) - len(ref.Left)
	return ref
}

func (p *Plan) items() []KeyVal {
	items := make([]KeyVal, len(p.Items))
	for i, kv := range p.Items {
		items[i] = KeyVal{Key: kv.Key, Val: kv.Value}
	}
	return items
}

// hideSecrets returns the plan without secrets, marked as such if there are any.
func (p *Plan) hideSecrets() *Plan {
	shown := *p
	shown.Changes = p.Changes.HideSecrets()
	shown.Items = slices.Clone(p.Items)
	for i := range shown.Items {
		shown.Items[i] = shown.Items[i].HideSecrets()
		if shown.Items[i].Value != p.Items[i].Value && !shown.Changes.Hidden {
			marked := *shown.Changes
			marked.Hidden, shown.Changes = true, &marked
		}
	}
	return &shown
}

// ApplyOptions say how a plan is applied.
type ApplyOptions struct {
	// Revert undoes everything if one value fails.
	Revert bool
	// Verify reads the southbound again and compares; see api.WithVerify.
	Verify bool
	// ConfirmTimeout takes the change back unless Confirm is called in time; 0
	// is no limit.
	ConfirmTimeout time.Duration
	// Caller is who asks for it.
	Caller Caller
}

// Applied is what became of a plan.
type Applied struct {
	SeqNum    uint64    // of the transaction; api.NoSeqNum if there was nothing to do
	Results   []Result  // of the items
	ConfirmBy time.Time // zero: needs no confirmation
}

// PlanData tells what PushData with the items would do. With WithResync, items
// that the source asked for and that are not given are removed; the southbound
// is not read for that. It waits for the initial synchronisation.
func (p *Plugin) PlanData(ctx context.Context, source string, items []KeyVal, opts ...PushOption) (*Plan, error) {
	var o pushOptions
	for _, opt := range opts {
		opt(&o)
	}
	if results := p.check(items); results != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidItems, firstError(results))
	}
	if o.description == "" {
		o.description = "plan of " + source
	}
	turn, err := p.begin(ctx, source, o.description, o.caller)
	if err != nil {
		return nil, err
	}
	defer turn.End()
	if o.resync {
		items = append(slices.Clone(items), p.obsolete(source, items)...)
	}
	return p.plan(ctx, source, items, o.description)
}

func firstError(results []Result) error {
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// obsolete are the removals of what the source wants and is not given.
func (p *Plugin) obsolete(source string, items []KeyVal) (gone []KeyVal) {
	given := map[string]bool{}
	for _, it := range items {
		given[it.Key] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(p.store.source(source).items)) {
		if !given[key] {
			gone = append(gone, KeyVal{Key: key})
		}
	}
	return gone
}

// plan asks the scheduler what a change of a source would do.
func (p *Plugin) plan(ctx context.Context, source string, items []KeyVal, description string) (*Plan, error) {
	out := &Plan{Source: source}
	p.mu.Lock()
	effects, undo := p.store.edit(source, items, true)
	for _, it := range items {
		out.Items = append(out.Items, api.RecordedKVPair{Key: it.Key, Value: it.Val, Origin: api.FromNB})
		if _, owner := p.store.effective(it.Key); owner != nil && owner.name != source {
			out.Left = append(out.Left, api.PlanReason{Key: it.Key, Reason: "source " + owner.name + " decides about it"})
		}
	}
	undo()
	p.mu.Unlock()
	slices.SortStableFunc(out.Left, func(a, b api.PlanReason) int { return strings.Compare(a.Key, b.Key) })
	txn := p.Scheduler.StartNBTransaction()
	for _, kv := range effects {
		txn.SetValue(kv.Key, kv.Val)
	}
	var err error
	out.Changes, err = txn.Plan(ctx, api.WithDescription(description))
	if out.Changes == nil {
		return nil, err
	}
	return out, err
}

// ApplyPlan makes the change of a plan if it does exactly what the plan says;
// otherwise the error is an api.ErrPlanStale and nothing is done. The other
// errors are those of PushData, and ErrUnconfirmed.
func (p *Plugin) ApplyPlan(ctx context.Context, plan *Plan, o ApplyOptions) (Applied, error) {
	out := Applied{SeqNum: api.NoSeqNum}
	items := plan.items()
	if results := p.check(items); results != nil {
		out.Results = results
		return out, fmt.Errorf("%w: %w", ErrInvalidItems, firstError(results))
	}
	turn, err := p.begin(ctx, plan.Source, "apply the "+plan.Changes.Description, o.Caller)
	if err != nil {
		return out, err
	}
	m, err := p.makePlanned(plan, items, o)
	if err != nil {
		turn.End()
		return out, err
	}
	if len(m.effects) > 0 {
		out.SeqNum, err = p.Scheduler.Apply(ctx, plan.Changes, append(o.txn(), api.WithArrival(turn.Times()))...)
	}
	p.afterwards(turn, out.SeqNum, err, func(seq uint64, err error) { p.finishPlanned(plan.Source, m, seq, err) })
	if m.waiting != nil {
		out.ConfirmBy = p.confirmBy(m.waiting)
	}
	out.Results = p.results(items, err)
	return out, err
}

// planned is the change of a plan that was not executed yet.
type planned struct {
	effects []KeyVal
	keys    []string // to be kept
	undo    func()
	waiting *unconfirmed // nil: needs no confirmation
	timeout time.Duration
}

// makePlanned makes the change of a plan without executing it.
func (p *Plugin) makePlanned(plan *Plan, items []KeyVal, o ApplyOptions) (m planned, err error) {
	p.mu.Lock()
	if u := p.unconfirmed; u != nil {
		p.mu.Unlock()
		return m, fmt.Errorf("%w (agentctl confirm) or is taken back: %s", ErrUnconfirmed, u)
	}
	before := p.wants(plan.Source, items)
	m.effects, m.undo = p.store.edit(plan.Source, items, true)
	if moved := differing(plan.Changes.Values, m.effects); moved != "" {
		m.undo()
		p.mu.Unlock()
		return m, fmt.Errorf("%w: what the sources want has changed since then: %s", api.ErrPlanStale, moved)
	}
	if m.timeout = o.ConfirmTimeout; m.timeout > 0 {
		m.waiting = p.newUnconfirmed(m.timeout, plan.Source, before, items)
	}
	m.keys = p.changedKeys(change{items: items}, nil)
	p.mu.Unlock()
	p.save(plan.Source, m.keys, m.waiting.state())
	return m, nil
}

// finishPlanned draws the conclusions from the outcome of a plan.
func (p *Plugin) finishPlanned(source string, m planned, seq uint64, err error) {
	if undone(err) {
		p.mu.Lock()
		m.undo()
		p.mu.Unlock()
		p.save(source, m.keys, nothingUnconfirmed())
	} else if m.waiting != nil {
		p.expectConfirmation(m.waiting, seq, m.timeout)
	}
	p.noteChange(source, err)
	p.tellHealth()
}

func (o ApplyOptions) txn() []api.TxnOption {
	opts := []api.TxnOption{api.WithRetryDefault()}
	if o.Revert {
		opts = append(opts, api.WithRevert())
	}
	if o.Verify {
		opts = append(opts, api.WithVerify())
	}
	return opts
}

// wants returns what the source wants of the items now. The lock is held.
func (p *Plugin) wants(source string, items []KeyVal) []KeyVal {
	src := p.store.source(source)
	now := make([]KeyVal, len(items))
	for i, it := range items {
		now[i] = src.items[it.Key].of(it.Key)
	}
	return now
}

// differing is the first key with another effect than planned; empty: none.
func differing(planned []api.RecordedKVPair, effects []KeyVal) string {
	for i := range max(len(planned), len(effects)) {
		switch {
		case i >= len(effects):
			return planned[i].Key
		case i >= len(planned) || planned[i].Key != effects[i].Key || !proto.Equal(planned[i].Value, effects[i].Val):
			return effects[i].Key
		}
	}
	return ""
}
