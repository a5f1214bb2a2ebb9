package api

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/fields"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// PlanItem is what operations do to one item: to a base value and the values derived from it.
type PlanItem struct {
	Kind StepKind
	Key  string
	// State is the state of an item that cannot become CONFIGURED, or that failed.
	State ValueState `json:",omitzero"`
	// Operations is their number. The item itself may have none.
	Operations int `json:",omitempty"`
	// Reason says why the item waits, is invalid, or stays as it is.
	Reason string `json:",omitempty"`
	// Because is the item whose change makes this one be created again; nil: it is this one.
	Because *PlanCause `json:",omitempty"`
	// Fields are the changed fields. A deleted item has none.
	Fields []FieldChange `json:",omitempty"`
	// Parts are derived values that an operator should know of: those that wait, that cannot
	// become CONFIGURED, that failed, or that are created again because of another item; all of
	// them if there is no operation on the item itself. OmittedParts counts those beyond the
	// first ten. Following counts those that only wait for others of them.
	Parts        []PlanPart `json:",omitempty"`
	OmittedParts int        `json:",omitempty"`
	Following    int        `json:",omitempty"`
	// Error is the error of an executed operation, and Reverted reports that it was undone.
	Error    string `json:",omitempty"`
	Reverted bool   `json:",omitempty"`

	before, after   proto.Message
	forced, secrets []string // see Plan.Forced and Plan.Secrets
}

// PlanPart is what operations do to a derived value.
type PlanPart struct {
	Kind    StepKind
	Key     string
	Reason  string     `json:",omitempty"` // why it waits or is invalid, or the error of an executed operation
	Because *PlanCause `json:",omitempty"` // see PlanItem.Because
}

// PlanCause is the item whose change makes others be created again, with the fields that
// force its own re-creation.
type PlanCause struct {
	Kind   StepKind
	Key    string
	Fields []string `json:",omitempty"`
}

// FieldChange is a changed field of an item. Texts are as in package fields.
type FieldChange struct {
	Kind     StepKind // StepCreate, StepUpdate or StepDelete
	Path     string
	Old, New string `json:",omitempty"`
	// Removed and Added are elements of a list that has others before and afterwards.
	Removed []string `json:",omitempty"`
	Added   []string `json:",omitempty"`
	// Secret reports that the values are hidden and differ.
	Secret bool `json:",omitempty"`
	// Forces reports that the item is created again because of the field.
	Forces bool `json:",omitempty"`
}

// Text is the cause in words, such as "config/a is created again (memif.id)".
func (c *PlanCause) Text() string {
	text := c.Key + " changes"
	switch c.Kind {
	case StepCreate:
		text = c.Key + " is created"
	case StepDelete:
		text = c.Key + " is deleted"
	case StepRecreate:
		text = c.Key + " is created again"
	}
	if len(c.Fields) > 0 {
		text += " (" + strings.Join(c.Fields, ", ") + ")"
	}
	return text
}

// Items are effects by item.
type Items struct {
	// List has the items in the order of their operations, and then those that are left as they are.
	// DescribeItems adds the fields.
	List []PlanItem
	// Counts counts all items by kind. StepWait and StepNever include items of another kind with a
	// derived value that waits or fails.
	// Omitted counts the items that are not in List.
	Counts  map[StepKind]int
	Omitted int
}

// ByItem returns what the plan does by item. Left are the items that the request leaves as they
// are, or does not fully decide about, with the reasons; an item with operations is listed once, with both. If there are more than
// limit items, List has the first ones, but some of each kind; a limit of 0 or less is none.
func (p *Plan) ByItem(limit int, left []PlanReason) Items {
	b := itemBuilder{ops: p.Operations, values: p.Values, base: p.Base, list: p.Reasons, undecided: left, forced: p.Forced, secrets: p.Secrets}
	return b.build(limit)
}

// ByItem returns what the transaction did by item; see Plan.ByItem.
func (t *RecordedTxn) ByItem(limit int) Items {
	b := itemBuilder{ops: t.Executed, values: t.Values, list: t.Reasons, forced: t.Forced}
	return b.build(limit)
}

// CountItems counts the items of the transaction by what it did to them.
func (t *RecordedTxn) CountItems() map[StepKind]int {
	b := itemBuilder{ops: t.Executed}
	b.group()
	return b.counts()
}

// HideItemSecrets hides the secrets of the items that DescribeItems has not described yet.
func HideItemSecrets(items []PlanItem) {
	var h hider
	for i := range items {
		it := &items[i]
		if it.after != nil {
			it.secrets = append(it.secrets, logging.ChangedSecrets(it.before, it.after)...)
		}
		it.before, it.after = h.value(it.before), h.value(it.after)
	}
}

// DescribeItems adds the changed fields to the items of a ByItem.
func DescribeItems(items []PlanItem) {
	for i := range items {
		items[i].describe()
	}
}

func (it *PlanItem) describe() {
	if it.after == nil || it.Kind == StepLeft {
		return
	}
	forces := func(path string) bool { return forces(it.forced, path) }
	for _, c := range fields.Compact(it.before, it.after) {
		f := FieldChange{Kind: StepUpdate, Path: c.Path, Old: c.Old, New: c.New, Removed: c.Removed, Added: c.Added, Forces: forces(c.Path)}
		switch {
		case !c.Has:
			f.Kind = StepDelete
		case !c.Had:
			f.Kind = StepCreate
		}
		it.Fields = append(it.Fields, f)
	}
	had, has := strings.Join(Unmodeled(it.before), ", "), strings.Join(Unmodeled(it.after), ", ")
	if had != has {
		kind := StepUpdate
		switch {
		case has == "":
			kind = StepDelete
		case had == "":
			kind = StepCreate
		}
		it.Fields = append(it.Fields, FieldChange{Kind: kind, Path: UnmodeledField, Old: had, New: has, Forces: forces(UnmodeledField)})
	}
	for _, path := range it.secrets {
		it.Fields = append(it.Fields, FieldChange{Kind: StepUpdate, Path: path, Secret: true, Forces: forces(path)})
	}
	it.before, it.after = nil, nil
}

// itemBuilder groups operations by item.
type itemBuilder struct {
	ops             []RecordedTxnOp
	values          []RecordedKVPair // of the change
	named           map[string]int   // index in values, by key; nil until it is needed
	base            []PlanBase       // see Plan.Base
	list            []PlanReason
	undecided       []PlanReason // see ByItem
	forced, secrets map[string][]string

	reasons map[string]string // by key
	own     map[string]bool   // keys of values with PlanReason.Own
	used    map[string]bool   // keys of reasons for an operation
	groups  []itemGroup
	at      map[string]int32 // index in groups, by key of the item
	parts   map[string]partOps
}

// itemGroup is an item while its operations are collected. There may be many, and most are not
// listed. Operations are known by index.
type itemGroup struct {
	key         string
	kind        StepKind
	place       int32 // the operation in whose place it is listed
	first, last int32 // operations on the item itself; -1: none
	operations  int32
	reverted    bool
	removed     bool // the last operation on the item itself is an executed deletion
	cause       string
	failure     string  // of a revert
	undecided   string  // see ByItem
	parts       []int32 // the last operations on derived values
	left        []int32 // reasons of derived values without an operation
}

// partOps are the operations on a derived value: the last one, and whether an earlier one deleted
// the value.
type partOps struct {
	last    int32
	deleted bool
}

func (b *itemBuilder) build(limit int) (out Items) {
	b.group()
	out.Counts = b.counts()
	for _, i := range b.listed(limit) {
		out.List = append(out.List, b.item(&b.groups[i]))
	}
	out.Omitted = len(b.groups) - len(out.List)
	return out
}

// group finds the items and what is done to them.
func (b *itemBuilder) group() {
	b.reasons, b.used, b.own = make(map[string]string, len(b.list)), map[string]bool{}, map[string]bool{}
	for _, r := range b.list {
		b.reasons[r.Key] = r.Reason
		if r.Own {
			b.own[r.Key] = true
		}
	}
	b.at, b.parts = make(map[string]int32, len(b.ops)), map[string]partOps{}
	for i := range b.ops {
		if op := &b.ops[i]; op.IsDerived && !op.IsRevert {
			was, again := b.parts[op.Key]
			b.parts[op.Key] = partOps{int32(i), was.deleted || again && b.ops[was.last].Operation == kvscheduler.TxnOperation_DELETE}
		}
	}
	for i := range b.ops {
		b.add(int32(i))
	}
	b.leave()
}

// counts counts the groups by kind; see Items.Counts.
func (b *itemBuilder) counts() map[StepKind]int {
	counts := map[StepKind]int{}
	waits := func(i int32) bool { return b.ops[i].outcome().waits() }
	failed := func(i int32) bool { return b.ops[i].outcome() == StepNever }
	for i := range b.groups {
		g := &b.groups[i]
		counts[g.kind]++
		if g.kind != StepNever && slices.ContainsFunc(g.parts, failed) {
			counts[StepNever]++
		}
		if g.kind != StepWait && (len(g.left) > 0 || slices.ContainsFunc(g.parts, waits)) {
			counts[StepWait]++
		}
	}
	return counts
}

// listed returns the groups to list, in their order.
func (b *itemBuilder) listed(limit int) []int32 {
	order := make([]int32, len(b.groups))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(b.groups[x].place, b.groups[y].place) })
	if limit <= 0 || len(order) <= limit {
		return order
	}
	const kinds = 8
	list, shown := make([]bool, len(order)), map[StepKind]int{}
	rest := limit
	for at, i := range order {
		kind := b.groups[i].kind
		if shown[kind]++; shown[kind] <= limit/kinds {
			list[at] = true
			rest--
		}
	}
	kept := order[:0]
	for at, i := range order {
		if !list[at] && rest > 0 {
			list[at] = true
			rest--
		}
		if list[at] {
			kept = append(kept, i)
		}
	}
	return kept
}

// groupOf returns the group of an item. A new group is listed at the place of an operation.
func (b *itemBuilder) groupOf(key string, place int) *itemGroup {
	i, ok := b.at[key]
	if !ok {
		i = int32(len(b.groups))
		b.at[key] = i
		b.groups = append(b.groups, itemGroup{key: key, kind: StepUpdate, place: int32(place), first: -1, last: -1})
	}
	return &b.groups[i]
}

// add adds an operation to its item.
func (b *itemBuilder) add(i int32) {
	op := &b.ops[i]
	reason := b.reasons[op.Key]
	if op.leaves(reason) {
		return
	}
	if reason != "" {
		b.used[op.Key] = true
	}
	g := b.groupOf(cmp.Or(op.Base, op.Key), int(i))
	g.operations++
	switch {
	case op.IsRevert:
		g.reverted = true
		g.failure = cmp.Or(g.failure, op.NewErrMsg)
	case op.Base == "":
		g.change(op, i)
	case b.parts[op.Key].last == i:
		g.parts = append(g.parts, i)
	}
}

// leaves reports whether an operation with a reason leaves the value as it is.
func (op *RecordedTxnOp) leaves(reason string) bool {
	kind := op.step()
	return reason != "" && op.NOOP && (kind == StepUpdate || kind == StepCreate)
}

// waits reports whether the value waits afterwards.
func (k StepKind) waits() bool { return k == StepWait || k == StepWithdraw }

// outcome is step, but StepNever if the operation failed, and StepWithdraw if the value is deleted, stays
// desired and waits.
func (op *RecordedTxnOp) outcome() StepKind {
	switch kind := op.step(); {
	case op.NewErrMsg != "":
		return StepNever
	case kind == StepDelete && op.NewState == kvscheduler.ValueState_PENDING:
		return StepWithdraw
	default:
		return kind
	}
}

// change adds an operation on the item itself.
func (g *itemGroup) change(op *RecordedTxnOp, i int32) {
	kind := op.outcome()
	if g.first < 0 {
		g.first = i
	} else if kind == StepCreate && (g.removed || g.kind == StepRecreate) {
		kind = StepRecreate
	}
	g.removed = op.step() == StepDelete
	g.last, g.place, g.kind = i, i, kind
	g.cause = cmp.Or(op.Cause, g.cause)
}

// leave adds the values that have a reason and no operation: items, and parts of items.
func (b *itemBuilder) leave() {
	for i, r := range b.list { // in the order of keys
		if b.used[r.Key] {
			continue
		}
		g := b.groupOf(cmp.Or(r.Base, r.Key), len(b.ops))
		if int(g.place) == len(b.ops) {
			g.kind = StepLeft
		}
		if r.Base != "" {
			g.left = append(g.left, int32(i))
		}
	}
	for _, r := range b.undecided {
		g := b.groupOf(r.Key, len(b.ops))
		if int(g.place) == len(b.ops) {
			g.kind = StepLeft
		}
		g.undecided = r.Reason
	}
}

// item describes a group.
func (b *itemBuilder) item(g *itemGroup) PlanItem {
	it := PlanItem{
		Kind: g.kind, Key: g.key, Operations: int(g.operations), Reason: b.reason(g), Because: b.because(g.cause),
		Reverted: g.reverted, Error: g.failure, secrets: b.secrets[g.key],
	}
	if g.last >= 0 {
		last := &b.ops[g.last]
		it.before, it.after = b.ops[g.first].PrevValue, last.NewValue
		if it.after == nil && g.kind == StepWithdraw {
			it.after = b.desired(g.key)
		}
		if g.kind == StepWait && b.isWanted(g.key, it.after) {
			it.after = nil // it waits as before
		}
		it.Error = cmp.Or(it.Error, last.NewErrMsg)
		if g.kind == StepNever {
			it.State = last.NewState
		}
	}
	if g.kind == StepRecreate {
		it.forced = b.forced[g.key]
	}
	for _, i := range g.parts {
		switch part, matters := b.part(g, i); {
		case !matters:
		case part.Kind.waits() && b.own[part.Key]:
			it.Following++
		default:
			it.part(part)
		}
	}
	for _, i := range g.left {
		if b.list[i].Own {
			it.Following++
			continue
		}
		it.part(PlanPart{Kind: StepWait, Key: b.list[i].Key, Reason: b.list[i].Reason})
	}
	return it
}

// reason returns why an item waits or stays as it is.
func (b *itemBuilder) reason(g *itemGroup) string {
	reason := b.reasons[g.key]
	if reason != "" && g.undecided != "" {
		reason += "; "
	}
	return reason + g.undecided
}

// isWanted reports whether a value was desired before.
func (b *itemBuilder) isWanted(key string, value proto.Message) bool {
	i, found := slices.BinarySearchFunc(b.base, key, func(of PlanBase, key string) int { return strings.Compare(of.Key, key) })
	return found && b.base[i].Wanted != "" && b.base[i].Wanted == ValueDigest(value)
}

// desired returns the value that the change asks for; nil: it does not name the key.
func (b *itemBuilder) desired(key string) proto.Message {
	if b.named == nil {
		b.named = make(map[string]int, len(b.values))
		for i := range b.values {
			b.named[b.values[i].Key] = i
		}
	}
	if i, ok := b.named[key]; ok {
		return b.values[i].Value
	}
	return nil
}

// part describes the last operation on a derived value, and reports whether it matters; see
// PlanItem.Parts.
func (b *itemBuilder) part(g *itemGroup, i int32) (p PlanPart, matters bool) {
	op := &b.ops[i]
	p = PlanPart{Kind: op.outcome(), Key: op.Key, Reason: cmp.Or(b.reasons[op.Key], op.NewErrMsg)}
	if p.Kind == StepCreate && b.parts[op.Key].deleted {
		p.Kind = StepRecreate
	}
	if op.Cause != g.cause {
		p.Because = b.because(op.Cause)
	}
	own := g.last >= 0
	return p, !own || p.Reason != "" || p.Kind == StepNever || p.Because != nil && g.kind != StepRecreate
}

// maxParts is the maximum number of PlanItem.Parts.
const maxParts = 10

func (it *PlanItem) part(p PlanPart) {
	if len(it.Parts) == maxParts {
		it.OmittedParts++
		return
	}
	it.Parts = append(it.Parts, p)
}

// because describes the cause of a re-creation; nil: there is none.
func (b *itemBuilder) because(key string) *PlanCause {
	if key == "" {
		return nil
	}
	c := &PlanCause{Kind: StepUpdate, Key: key}
	if i, ok := b.at[key]; ok {
		c.Kind = b.groups[i].kind
	}
	if c.Kind == StepRecreate {
		c.Fields = b.forced[key]
	}
	return c
}
