package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// world is a southbound that keeps state, refuses what makes no sense, fails
// when told to, and checks at every instant that nothing exists without what
// it depends on.
type world struct {
	mu       sync.Mutex
	exists   map[string]*model.Item // created by the scheduler (or a foreign hand)
	notified map[string]*model.Item
	meta     map[string]int
	serial   int
	ops      []string
	problems []string
	faults   map[string]int // by kind

	transitions map[string]int // changes of owner, by kind

	// fail decides about the next operation: "" (works), "before" or "after"; it
	// hangs before it does so with "hang " in front, or with "hang early " after its
	// effect.
	fail func(op, key string) string
	// cyclic are the keys that depend on themselves, directly or not; they come
	// up together, so one of them is first.
	cyclic func(key string) bool
	// concurrency of the descriptors "a" and "d"; below 1 nothing runs beside
	// anything else.
	concurrency int
	batches     int                 // what takes batches in them and in "c"; see createBatches
	inBatch     map[string][]string // the keys of a batch that runs, by each of its keys
	short       func() bool         // decides whether a batch lacks its last result
	running     map[string]string   // operation by key
	hanging     map[string]*hung    // operations that hang
	hung        chan string         // told what begins to hang
	most        int                 // that ran at once
	loose       bool                // see setLoose

	// foreign are keys in exists of values that others made.
	foreign map[string]bool
	// raw are the foreign ones among them, and their derived values, that are
	// unchanged; the scheduler does not know their dependencies.
	raw    map[string]bool
	placed map[string]*model.Item // what others made
	// unseen is the key of an object that Create finds; see hide.
	unseen string
	// mum southbounds do not report which process created a value.
	mum bool
	// rules are the ownership policies; asked reports whether the northbound desires
	// a value.
	rules rules
	asked func(key string) bool
	// kill notifies the scheduler that the southbound of the session died; it does
	// of the next operation in it, or of the next one on the key killOnly. gone:
	// it is dead.
	kill     func()
	killOnly string
	gone     bool
	// dieAt is the number of calls until the scheduler dies; 0: it does not.
	dieAt     int
	dead      bool
	died      func()
	coin      *rand.Rand
	deathMode string // of the last operation; empty: by chance
	// heeds decides what becomes of an operation that hangs when its context is canceled:
	// it returns an error "before" or "after" its effect, or (empty) hangs on.
	heeds func() string
	// panics decides whether a fault is a panic instead of an error.
	panics   func() bool
	panicked bool
	refused  []string // operations on values with an identity that another one has
	// lied are the keys of operations that were said to be done and were not.
	lied map[string]bool

	// blind southbounds do not report what is there.
	retrieveErr error
	mute        map[string]muteness // Retrieves that are no good, by descriptor; see unread
	badDump     string              // kind of a Retrieve with the hidden key in it; see badDump
	hidden      string
}

func newWorld() *world {
	return &world{
		exists: map[string]*model.Item{}, notified: map[string]*model.Item{}, meta: map[string]int{}, running: map[string]string{}, inBatch: map[string][]string{},
		foreign: map[string]bool{}, raw: map[string]bool{}, placed: map[string]*model.Item{}, asked: func(string) bool { return false },
		faults: map[string]int{}, lied: map[string]bool{}, transitions: map[string]int{}, mute: map[string]muteness{},
		hanging: map[string]*hung{}, hung: make(chan string, 100),
		heeds:  func() string { return "before" },
		panics: func() bool { return false },
		fail:   func(string, string) string { return "" },
		short:  func() bool { return false },
		cyclic: func(string) bool { return false },
	}
}

var errInjected = errors.New("injected")

func (w *world) problem(format string, args ...any) {
	if w.gone || w.loose {
		return // nothing is right until the scheduler knows it
	}
	w.broken(format, args...)
}

// broken is a problem whatever the scheduler can know.
func (w *world) broken(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// fault counts one.
func (w *world) fault(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[kind]++
}

// present reports whether a key exists, as a value or as a notified one.
func (w *world) present(key string) bool {
	if w.exists[key] != nil || w.notified[key] != nil {
		return true
	}
	// Properties are not in the southbound; that their base is there is all that
	// can be checked here.
	base, ok := baseOfProperty(key)
	return ok && w.exists[base] != nil
}

// baseOfProperty: "p/<base key>".
func baseOfProperty(key string) (string, bool) { return strings.CutPrefix(key, "p/") }

func (w *world) met(it *model.Item, without string) (missing string, ok bool) {
	for _, dep := range it.Deps {
		if dep == without || !w.present(dep) {
			return dep, false
		}
	}
	if len(it.AnyOf) == 0 {
		return "", true
	}
	for _, prefix := range it.AnyOf {
		for _, set := range []map[string]*model.Item{w.exists, w.notified} {
			for key := range set {
				if key != without && strings.HasPrefix(key, prefix) {
					return "", true
				}
			}
		}
	}
	return strings.Join(it.AnyOf, "|"), false
}

// claim checks that no other operation on the key runs, until release is called: however
// late the other one returns, and whichever scheduler began it. The lock is held.
func (w *world) claim(op, key string) (release func()) {
	if w.inBatch[key] != nil { // claimed by its batch
		return func() {}
	}
	if other := w.running[key]; other != "" {
		w.broken("%s %s: while %s", op, key, other)
	}
	w.running[key] = op
	return func() { delete(w.running, key) }
}

func (w *world) call(ctx context.Context, op, key string, refuse func() error, effect func()) error {
	mode := w.fail(op, key)
	if w.dying() {
		if mode = w.deathMode; mode == "" {
			mode = rapidMode(w.coin)
		}
		w.faults["scheduler killed in an operation"]++
		w.died()
	}
	if w.killed(op, key) {
		return fmt.Errorf("%s %s: %w", op, key, errInjected)
	}
	why := w.forbidden(op, key) // when it begins; what hangs may be given up meanwhile
	mode, hangs := strings.CutPrefix(mode, "hang ")
	h := &hung{until: make(chan struct{}), effect: func() error {
		if err := refuse(); err != nil && w.loose {
			return err
		}
		effect()
		w.soil(key)
		return nil
	}}
	mode, early := strings.CutPrefix(mode, "early ")
	h.never = mode == "before" || mode == "lie"
	canceled := false
	if hangs {
		w.faults["callback that hangs"]++
		if early {
			h.happen()
		}
		canceled = w.hang(ctx, key, h)
	}
	if h.cut {
		return fmt.Errorf("%s %s: %w", op, key, errCut)
	}
	w.runFor(op, key)
	if w.gone && inSession(key) { // died meanwhile
		w.ops = append(w.ops, op+" "+key+" killed")
		return fmt.Errorf("%s %s: %w", op, key, errInjected)
	}
	if why != "" {
		w.broken("%s %s: %s", op, key, why)
	}
	if canceled {
		return w.canceled(ctx, op, key, h)
	}
	w.ops = append(w.ops, strings.TrimSpace(op+" "+key+" "+mode))
	switch mode {
	case "before":
		return w.failed(mode, fmt.Errorf("%s %s: %w", op, key, errInjected))
	case "lie":
		w.faults["operation that is not done"]++
		w.lied[key] = true
		return nil
	}
	if err := h.happen(); err != nil {
		return err
	}
	if mode == "after" {
		return w.failed(mode, fmt.Errorf("%s %s, done: %w", op, key, errInjected))
	}
	return nil
}

// baseOfDerived: "d/<base key>/<name>"; other keys are their own base.
func baseOfDerived(key string) (string, bool) {
	derived, ok := strings.CutPrefix(key, "d/")
	if !ok {
		return key, false
	}
	return derived[:strings.LastIndex(derived, "/")], true
}

// mark is where in the list of operations the next one will be.
func (w *world) mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ops)
}

// since are the operations from a mark on.
func (w *world) since(mark int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ops[mark:])
}

// injected is the number of faults so far that may make a difference.
func (w *world) injected() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind, count := range w.faults {
		if !strings.HasPrefix(kind, "clock") { // which shall make no difference
			n += count
		}
	}
	return n
}

// runFor lets others run while an operation is under way, and checks that they
// may. The lock is held before and after.
func (w *world) runFor(op, key string) {
	w.most = max(w.most, len(w.running))
	if w.concurrency > 1 {
		w.mu.Unlock()
		for range 3 {
			runtime.Gosched()
		}
		w.mu.Lock()
	}
	for other, what := range w.running {
		if op != "delete" || other == key || w.cyclic(other) || w.others(other) || w.raw[other] || what == "delete" {
			continue
		}
		if it := w.exists[other]; it != nil && slices.Contains(it.Deps, key) {
			w.problem("delete %s: while %s %s, which depends on it", key, what, other)
		}
	}
}

func (w *world) create(ctx context.Context, key string, it *model.Item) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, errDead
	}
	defer w.claim("create", key)()
	base, derived := baseOfDerived(key)
	if key == w.unseen {
		return w.find(ctx, key, it)
	}
	switch exists, orphan := w.exists[key] != nil, derived && w.exists[base] == nil; {
	case exists && w.misled(key):
		return nil, fmt.Errorf("create %s: it exists", key)
	case orphan && w.misled(key):
		return nil, fmt.Errorf("create %s: there is no %s", key, base)
	case exists:
		w.problem("create %s: exists", key)
	case orphan:
		w.problem("create %s: without %s", key, base)
	}
	if dep, ok := w.met(it, ""); !ok && !w.cyclic(key) && !w.others(key) {
		w.problem("create %s: without %s", key, dep)
	}
	if err := w.refuseTaken("create", key, it); err != nil {
		return nil, err
	}
	w.serial++
	meta := w.serial
	refuse := func() error {
		if w.taken(key, it) != "" || w.exists[key] != nil || derived && w.exists[base] == nil {
			return fmt.Errorf("create %s: %w", key, errImpossible)
		}
		return nil
	}
	err := w.call(ctx, "create", key, refuse, func() { w.exists[key], w.meta[key] = it, meta })
	return meta, err
}

func (w *world) update(ctx context.Context, key string, old, it *model.Item, meta any) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, errDead
	}
	defer w.claim("update", key)()
	if w.exists[key] == nil && w.misled(key) {
		return meta, fmt.Errorf("update %s: it does not exist", key)
	} else if w.exists[key] == nil {
		w.problem("update %s: does not exist", key)
	} else if !w.misled(key) && !proto.Equal(old, w.exists[key]) && !w.derivedDiffer(key, old) {
		w.problem("update %s: from %v, but there is %v", key, old, w.exists[key])
	}
	if old.Recreate || it.Recreate {
		w.problem("update %s: needs re-creation", key)
	}
	w.checkMeta("update", key, meta)
	if dep, ok := w.met(it, ""); !ok && !w.cyclic(key) && !w.others(key) {
		w.problem("update %s: without %s", key, dep)
	}
	if err := w.refuseTaken("update", key, it); err != nil {
		return meta, err
	}
	refuse := func() error {
		if w.taken(key, it) != "" || w.exists[key] == nil {
			return fmt.Errorf("update %s: %w", key, errImpossible)
		}
		return nil
	}
	return meta, w.call(ctx, "update", key, refuse, func() { w.exists[key] = it })
}

// derivedDiffer reports whether a retrieved value differs from the created one in
// its derived values, because Retrieve returns only those that exist.
func (w *world) derivedDiffer(key string, old *model.Item) bool {
	a, b := proto.Clone(old).(*model.Item), proto.Clone(w.exists[key]).(*model.Item)
	a.Derived, b.Derived, a.Note, b.Note = nil, nil, "", ""
	return proto.Equal(a, b)
}

func (w *world) checkMeta(op, key string, meta any) {
	if strings.HasPrefix(key, "d/") {
		return // derived values have no metadata
	}
	if n, _ := meta.(int); w.exists[key] != nil && n != w.meta[key] {
		w.problem("%s %s: metadata %v, expected %d", op, key, meta, w.meta[key])
	}
}

func (w *world) delete(ctx context.Context, key string, it *model.Item, meta any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return errDead
	}
	defer w.claim("delete", key)()
	if w.exists[key] == nil && w.misled(key) {
		return nil // gone already
	} else if w.exists[key] == nil {
		w.problem("delete %s: does not exist", key)
	}
	w.checkMeta("delete", key, meta)
	for other, o := range w.exists {
		if other == key || w.cyclic(other) || w.others(other) || w.raw[other] {
			continue
		}
		_, with := w.met(o, "")
		_, without := w.met(o, key)
		if with && !without {
			w.problem("delete %s: %s stands on it", key, other)
		}
		if strings.HasPrefix(other, "d/"+key+"/") {
			w.problem("delete %s: derived %s exists", key, other)
		}
	}
	refuse := func() error { return nil }
	return w.call(ctx, "delete", key, refuse, func() {
		if w.loose {
			w.removeAll(key)
			return
		}
		delete(w.exists, key)
		delete(w.meta, key)
	})
}
