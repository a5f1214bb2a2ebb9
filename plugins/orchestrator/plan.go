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
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/constraints"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// ErrUnconfirmed is returned while another change waits for confirmation: no
// plan is applied until that change is confirmed or reverted.
var ErrUnconfirmed = errors.New("a change is waiting for confirmation")

// Plan is a change of a source's items, with all its effects. It can be saved
// with api.SealPlan.
type Plan struct {
	Source string
	// Items are the new items of the source; a nil Value removes the item.
	Items []api.RecordedKVPair
	// Left are the items that have no effect, or values that a rollback cannot
	// restore, with the reasons; sorted by key.
	Left []api.PlanReason `json:",omitempty"`
	// Changes are the operations of the scheduler.
	Changes *api.Plan
	// Findings are the constraints that the items violate.
	Findings []response.Finding `json:",omitempty"`
	// Kept counts the items that the source has, that the request does not name, and that stay.
	// KeptItems are their keys, if there are not too many.
	Kept      int      `json:",omitempty"`
	KeptItems []string `json:",omitempty"`
	// Overrides are items of other sources that the change will override, and that its source does
	// not override yet: the first 10 of Overridden.
	Overrides  []response.Override `json:",omitempty"`
	Overridden int                 `json:",omitempty"`
	// Effects are Left and Changes by item, for display; ItemCounts counts them by kind, and
	// OmittedItems those that Reference has left out. Shown sets them.
	Effects      []api.PlanItem       `json:",omitempty"`
	ItemCounts   map[api.StepKind]int `json:",omitempty"`
	OmittedItems int                  `json:",omitempty"`

	// A plan by reference has a fingerprint that identifies its effects, and only a
	// part of the operations, for display. It cannot be applied itself; its request
	// can, with the fingerprint.
	Fingerprint string               `json:",omitempty"`
	Counts      map[api.StepKind]int `json:",omitempty"` // of all steps
	Changed     int                  `json:",omitempty"` // number of operations that change something
	Omitted     int                  `json:",omitempty"` // number of omitted operations and reasons

	rollback bool // values that are left are failures
}

// fingerprint identifies the plan; see api.Plan.
func (p *Plan) fingerprint() string {
	left := make([]string, 0, 2*len(p.Left))
	for _, l := range p.Left {
		left = append(left, l.Key, l.Reason)
	}
	return api.Fingerprint(append(left, p.Source, api.ValuesDigest(p.Items), p.Changes.Fingerprint())...)
}

// Shown returns the plan for display, with its effects by item: the whole plan, which can be
// applied if its secrets are not hidden, or if limit is not negative the plan by reference.
func (p *Plan) Shown(limit int, secrets bool) *Plan {
	shown := *p
	if limit >= 0 {
		shown = *p.Reference(limit)
	}
	items := p.Changes.ByItem(limit, p.Left)
	if !secrets {
		shown = *shown.HideSecrets()
		api.HideItemSecrets(items.List)
	}
	api.DescribeItems(items.List)
	shown.Effects, shown.ItemCounts, shown.OmittedItems = items.List, items.Counts, items.Omitted
	return &shown
}

// Reference returns the plan by reference, with at most limit operations and
// reasons; 0 is all of them.
func (p *Plan) Reference(limit int) *Plan {
	ref := &Plan{Source: p.Source, Fingerprint: p.fingerprint(), Counts: map[api.StepKind]int{}, Changed: len(p.Changes.Changes())}
	p.Changes.Steps(func(s api.PlanStep) { ref.Counts[s.Kind]++ }, func(api.PlanReason) { ref.Counts[api.StepLeft]++ })
	ref.Counts[api.StepLeft] += len(p.Left)
	changes := *p.Changes
	changes.Values, changes.Base = nil, nil
	ref.Changes, ref.Left, ref.Findings, ref.Kept, ref.KeptItems = &changes, p.Left, p.Findings, p.Kept, p.KeptItems
	ref.Overrides, ref.Overridden = p.Overrides, p.Overridden
	if limit == 0 || len(changes.Operations) <= limit && len(changes.Reasons) <= limit && len(p.Left) <= limit {
		return ref
	}
	changes.Operations = changes.Operations[:min(limit, len(changes.Operations))]
	kept := make(map[string]bool, len(changes.Operations))
	for i := range changes.Operations {
		kept[changes.Operations[i].Key] = true
	}
	changes.Reasons = slices.DeleteFunc(slices.Clone(p.Changes.Reasons), func(r api.PlanReason) bool { return !kept[r.Key] })
	changes.Forced = maps.Clone(p.Changes.Forced)
	maps.DeleteFunc(changes.Forced, func(key string, _ []string) bool { return !kept[key] })
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

// HideSecrets returns the plan without secrets, and marks it as such if there
// are any.
func (p *Plan) HideSecrets() *Plan {
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

// ApplyOptions are the options of ApplyPlan.
type ApplyOptions struct {
	// Revert reverts the transaction if a value fails.
	Revert bool
	// Verify reads the southbound again and compares; see api.WithVerify.
	Verify bool
	// ConfirmTimeout reverts the change unless ConfirmCommit is called in time; 0
	// disables it.
	ConfirmTimeout time.Duration
	// CommitID identifies the change in ConfirmCommit and similar calls; if it is
	// empty, the agent makes one.
	CommitID string
	// Caller is the client that applies the plan.
	Caller Caller
}

// Applied is the result of a plan.
type Applied struct {
	SeqNum    uint64    // of the transaction; api.NoSeqNum if the plan was empty
	Results   []Result  // of the items
	ConfirmBy time.Time // zero: no confirmation needed
	CommitID  string    // of the confirmation; empty: no confirmation needed
}

// PlanData returns the effects of PushData with the items. With WithResync,
// other items of the source are removed; PlanData does not read the southbound
// for that. It waits for the initial synchronisation.
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
	plan, err := p.plan(ctx, source, items, o.description)
	if plan != nil {
		plan.Kept, plan.KeptItems = p.kept(source, items)
	}
	return plan, err
}

// maxKeptItems is the maximum number of items that a plan names as kept.
const maxKeptItems = 1000

// kept counts the items that the source has and that are not given, and returns their keys
// if there are not too many. It takes as long as there are given items.
func (p *Plugin) kept(source string, items []KeyVal) (count int, keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given := make(map[string]bool, len(items))
	has := p.store.source(source).items
	count = len(has)
	for _, it := range items {
		if _, ok := has[it.Key]; ok && !given[it.Key] {
			count--
		}
		given[it.Key] = true
	}
	if count == 0 || count > maxKeptItems {
		return count, nil
	}
	for key := range has {
		if !given[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return count, keys
}

func firstError(results []Result) error {
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// obsolete returns the removals of the source's items that are not given.
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

// plan returns the scheduler's plan for a change of a source.
func (p *Plugin) plan(ctx context.Context, source string, items []KeyVal, description string) (*Plan, error) {
	out := &Plan{Source: source}
	p.mu.Lock()
	before := p.wants(source, items)
	effects, undo := p.store.edit(source, items, true)
	out.Overrides, out.Overridden = p.store.overrides(source, items, before)
	for _, it := range items {
		out.Items = append(out.Items, api.RecordedKVPair{Key: it.Key, Value: it.Val, Origin: api.FromNB})
		if _, owner := p.store.effective(it.Key); owner != nil && owner.name != source {
			reason := "source " + owner.name + " has a higher priority"
			if it.Val == nil {
				reason = "source " + owner.name + " configures it, too"
			}
			out.Left = append(out.Left, api.PlanReason{Key: it.Key, Reason: reason})
		}
	}
	desired := p.desired(items)
	undo()
	p.mu.Unlock()
	out.Findings = concerning(items, constraints.Check(desired))
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
	out.Findings = append(out.Findings, concerning(items, conflicting(out.Changes.Conflicts, out.Findings))...)
	return out, err
}

// ApplyPlan executes a plan if its effects are still exactly the same;
// otherwise it does nothing and returns api.ErrPlanStale. The other errors are
// PushData's errors, and ErrUnconfirmed.
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
		out.ConfirmBy, out.CommitID = p.confirmBy(m.waiting)
	}
	out.Results = p.results(items, err)
	return out, err
}

// maxReplans is how often PlanAndApply plans again.
const maxReplans = 10

// PlanAndApply applies the plan that the function returns, and calls it again if the plan has
// become stale. It returns the last plan.
func (p *Plugin) PlanAndApply(ctx context.Context, plan func() (*Plan, error), o ApplyOptions) (last *Plan, applied Applied, err error) {
	for range maxReplans {
		applied = Applied{SeqNum: api.NoSeqNum}
		if last, err = plan(); err == nil {
			applied, err = p.ApplyPlan(ctx, last, o)
		}
		if !errors.Is(err, api.ErrPlanStale) {
			break
		}
	}
	return last, applied, err
}

// planned is the change of a plan before its execution.
type planned struct {
	effects []KeyVal
	keys    []string // to persist
	undo    func()
	waiting *unconfirmed // nil: no confirmation needed
	timeout time.Duration
}

// makePlanned makes the change of a plan without executing it.
func (p *Plugin) makePlanned(plan *Plan, items []KeyVal, o ApplyOptions) (m planned, err error) {
	p.mu.Lock()
	if u := p.unconfirmed; u != nil {
		p.mu.Unlock()
		return m, fmt.Errorf("%w: %s", ErrUnconfirmed, u)
	}
	before := p.wants(plan.Source, items)
	m.effects, m.undo = p.store.edit(plan.Source, items, true)
	if moved := differing(plan.Changes.Values, m.effects); moved != "" {
		m.undo()
		p.mu.Unlock()
		return m, fmt.Errorf("%w: the sources have changed since then: %s", api.ErrPlanStale, moved)
	}
	if m.timeout = o.ConfirmTimeout; m.timeout > 0 {
		m.waiting = p.newUnconfirmed(o, plan.Source, before, items)
	}
	m.keys = p.changedKeys(change{items: items}, nil)
	p.mu.Unlock()
	p.save(plan.Source, m.keys, m.waiting.state())
	return m, nil
}

// finishPlanned handles the result of a plan.
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

// wants returns the present items of the source for the given keys. The lock
// is held.
func (p *Plugin) wants(source string, items []KeyVal) []KeyVal {
	src := p.store.source(source)
	now := make([]KeyVal, len(items))
	for i, it := range items {
		now[i] = src.items[it.Key].of(it.Key)
	}
	return now
}

// differing returns the first key whose effect differs from the plan; empty if
// there is none.
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
