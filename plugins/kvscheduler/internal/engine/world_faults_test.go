package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// hung is an operation that hangs until it is released.
type hung struct {
	until    chan struct{} // closed then
	effect   func() error
	never    bool // it fails without effect
	happened bool
	err      error
	cut      bool            // its southbound or its scheduler has ended: it no longer has an effect
	ended    bool            // see end
	heeds    string          // see world.heeds
	ctx      context.Context // nil: it does not end with its context
}

// end lets the operation return without any further effect. The lock is held.
func (h *hung) end() {
	h.cut = true
	if !h.ended {
		h.ended = true
		close(h.until)
	}
}

// happen lets the operation take effect, once. The lock is held.
func (h *hung) happen() error {
	if !h.happened && !h.never && !h.cut {
		h.happened, h.err = true, h.effect()
	}
	return h.err
}

var errImpossible = errors.New("the southbound refuses what is impossible")

// errCut is the error of an operation whose southbound lost its state.
var errCut = errors.New("cut off")

// setLoose makes the southbound refuse what is impossible, which else is a failure of
// the test: while it is set the scheduler cannot know what exists.
func (w *world) setLoose(loose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loose = loose
}

// happen lets the operation that hangs on a key take effect.
func (w *world) happen(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.hanging[key]; h != nil { // else its context was canceled
		w.faults["late effect before a late return"]++
		_ = h.happen() // told when it returns
	}
}

// cut lets nothing of the keys take effect that hangs.
func (w *world) cut(which func(key string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, h := range w.hanging {
		h.cut = h.cut || which(key)
	}
}

// removeAll removes a value with its derived values. The lock is held.
func (w *world) removeAll(key string) {
	w.lose(func(k string) bool { return k == key || strings.HasPrefix(k, "d/"+key+"/") })
}

// lose lets values cease to exist. The lock is held.
func (w *world) lose(which func(key string) bool) {
	for key := range w.exists {
		if which(key) {
			delete(w.exists, key)
			delete(w.meta, key)
			delete(w.foreign, key)
			delete(w.raw, key)
			delete(w.placed, key)
		}
	}
}

// edit is a hand that changes a value. The lock is held.
func (w *world) edit(key string) {
	it := proto.CloneOf(w.exists[key])
	it.Value += 100
	w.exists[key] = it
	if w.raw[key] {
		w.placed[key] = it
	}
}

// await waits for what the callbacks of the southbound bring about.
func (w *world) await(done func() bool) {
	for {
		w.mu.Lock()
		over := done()
		w.mu.Unlock()
		if over {
			return
		}
		runtime.Gosched()
	}
}

// hang keeps an operation from taking effect, until it is released or its context is
// canceled. The lock is held before and after.
func (w *world) hang(ctx context.Context, key string, h *hung) (canceled bool) {
	w.hanging[key] = h
	var done <-chan struct{}
	if ctx.Done() != nil {
		if h.heeds = w.heeds(); h.heeds != "" {
			h.ctx, done = ctx, ctx.Done()
		}
	}
	w.mu.Unlock()
	w.hung <- key
	select {
	case <-h.until:
	case <-done:
		canceled = true
	}
	w.mu.Lock()
	delete(w.hanging, key)
	return canceled
}

// canceled ends an operation that hung until its context was canceled. The lock is held.
func (w *world) canceled(ctx context.Context, op, key string, h *hung) error {
	cause := context.Cause(ctx)
	known := []error{api.ErrCallbackTimeout, api.ErrSessionEnded, api.ErrClosedScheduler}
	if !slices.ContainsFunc(known, func(err error) bool { return errors.Is(cause, err) }) {
		w.broken("%s %s: canceled because of %v", op, key, cause)
	}
	w.faults["callback that ends with its context, "+h.heeds+" the effect"]++
	w.ops = append(w.ops, op+" "+key+" canceled")
	if h.heeds == "after" {
		if err := h.happen(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s %s: %w", op, key, cause)
}

// ending reports whether an operation hangs that is about to return, because its context
// was canceled. The lock is held.
func (w *world) ending() bool {
	for _, h := range w.hanging {
		if h.ctx != nil && h.ctx.Err() != nil {
			return true
		}
	}
	return false
}

// hangs reports whether the operation on a key hangs, or another one of its batch.
func (w *world) hangs(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hanging[key] != nil || slices.ContainsFunc(w.inBatch[key], func(other string) bool { return w.hanging[other] != nil })
}

// failed is an injected failure: an error, or a panic.
func (w *world) failed(mode string, err error) error {
	if w.panics() {
		w.faults["panic "+mode+" the effect"]++
		w.panicked = true
		panic(err)
	}
	w.faults["error "+mode+" the effect"]++
	return err
}

// misled reports whether faults hide the actual state of a key, or of its base, from
// the scheduler.
func (w *world) misled(key string) bool {
	base, _ := baseOfDerived(key)
	return w.loose || w.lied[base] || w.hidden == base
}

// crash loses everything that lives in the session.
func (w *world) crash() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose(inSession)
}

// killed is an operation in the session when the southbound dies of it, or is
// dead. The lock is held.
func (w *world) killed(op, key string) bool {
	if w.kill == nil && !w.gone || !inSession(key) {
		return false
	}
	if w.kill != nil && strings.HasPrefix(key, "c/") && (w.killOnly == "" || key == w.killOnly) {
		w.gone = true
		w.lose(inSession)
		w.kill()
		w.kill = nil
	}
	if w.gone {
		w.ops = append(w.ops, op+" "+key+" killed")
	}
	return w.gone
}

// injured: the southbound does not die of the next operation, or it did.
func (w *world) injured() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kill == nil
}

func (w *world) revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = false
}

func inSession(key string) bool {
	return strings.HasPrefix(key, "c/") || strings.HasPrefix(key, "d/c/") || strings.HasPrefix(key, "p/c/")
}
