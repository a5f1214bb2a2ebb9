package engine_test

import (
	"context"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// find lets Create find an object that another process made a moment before: at once, or when a
// value that waited is created. Nothing fails meanwhile.
func (s *simulation) find() {
	s.converge()
	s.resync(api.DownstreamResync)
	s.converge()
	var free []string
	for _, key := range baseKeys {
		policy := s.w.rules.of(key)
		usable := !strings.HasPrefix(key, "c/") && (policy == registry.Adopt || policy == registry.Managed)
		if usable && s.o.wanted[key] == nil && s.w.free(key) {
			free = append(free, key)
		}
	}
	if len(free) == 0 {
		return
	}
	rate := s.rate
	s.rate = 0
	defer func() { s.rate = rate }()
	key := rapid.SampledFrom(free).Draw(s.T, "found")
	have := &model.Item{Value: int64(rapid.IntRange(0, 3).Draw(s.T, "have"))}
	want := &model.Item{Value: int64(rapid.IntRange(0, 3).Draw(s.T, "want"))}
	late := rapid.Bool().Draw(s.T, "late")
	if late {
		s.report("n/0", nil)
		want.Deps = []string{"n/0"}
	} else {
		s.w.hide(key, have)
	}
	s.log("a stranger makes %s {%v}, which Create finds, late: %t, policy %v", key, have, late, s.w.rules.of(key))
	values := map[string]*model.Item{key: want}
	if err := s.commit(values, api.WithRetryMaxCount(0)); err != nil {
		s.fatal("%s was not created: %v", key, err)
	}
	s.want(values)
	if late {
		s.w.hide(key, have)
		s.report("n/0", &model.Item{Value: 7})
	}
	if !s.w.wasFound() {
		s.fatal("%s was not created", key)
	}
	s.converge()
}

// hide is place, but the scheduler does not look for the object before Create finds it.
func (w *world) hide(key string, it *model.Item) {
	w.place(key, it)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unseen = key
}

// wasFound reports whether Create found the object of hide.
func (w *world) wasFound() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unseen == ""
}

// find makes the object of hide the desired one. The lock is held.
func (w *world) find(ctx context.Context, key string, it *model.Item) (meta any, err error) {
	never := func() error { return nil }
	if err := w.call(ctx, "create", key, never, func() { w.exists[key] = it }); err != nil {
		return nil, err
	}
	w.faults[foundByCreate]++
	if w.unseen = ""; w.rules.of(key) == registry.Managed {
		delete(w.foreign, key)
	}
	return w.meta[key], api.ErrFound
}
