package engine_test

import (
	"errors"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// muteness is a kind of Retrieve that is no good, and how often.
type muteness struct {
	kind  string
	times int
}

// mute makes Retrieve fail for a while, of some of the descriptors, when nothing
// is known of them. The function that it returns lives on with that, until all
// of them were read.
func (s *simulation) mute(descriptors ...string) (live func()) {
	if rapid.IntRange(0, 2).Draw(s.T, "mute") > 0 {
		return func() {}
	}
	drawn := map[string]muteness{} // without the lock: a draw may end the case
	for _, name := range descriptors {
		switch kind := rapid.SampledFrom([]string{"", "failed", "panicked", "hollow"}).Draw(s.T, "mute kind"); kind {
		case "":
		case "hollow": // it counts as read then
			drawn[name] = muteness{kind, 1}
		default:
			drawn[name] = muteness{kind, rapid.IntRange(1, 3).Draw(s.T, "times")}
		}
	}
	s.w.mu.Lock()
	maps.Copy(s.w.mute, drawn)
	s.w.mu.Unlock()
	s.log("mute %v", drawn)
	found := s.strand()
	return func() {
		defer found()
		for range rapid.IntRange(0, 3).Draw(s.T, "meanwhile") {
			s.settled = false
			switch rapid.SampledFrom([]string{"change", "notify", "resync", "timers"}).Draw(s.T, "muted") {
			case "change":
				values := s.drawChange()
				for key, it := range values {
					if it != nil {
						it.Invalid = false // the value in force instead depends on the unknown state
					}
					// Values are taken over when they are read; without a journal no value is
					// ours before.
					if s.w.untaken(key) || s.journal == nil && it == nil && s.w.exists[key] != nil {
						delete(values, key)
					}
				}
				s.log("change, some descriptors were not read")
				_ = s.commit(values, api.WithRetryMaxCount(0)) // the retries show it
				s.want(values)
			case "notify":
				s.notify()
			case "resync":
				s.resync(api.DownstreamResync)
			case "timers":
				s.log("timers")
				s.clock.fire()
				s.barrier()
			}
		}
		s.converge()
	}
}

// answer is what a Retrieve returns: all there is, or, of a descriptor that is
// mute, an error with a part of it, a panic, or values without content.
func (w *world) answer(name string, retrieve func(string) ([]api.KV[*model.Item, any], error)) ([]api.KV[*model.Item, any], error) {
	found, err := retrieve(name + "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.mute[name]
	if m.times == 0 {
		return found, err
	}
	w.mute[name] = muteness{m.kind, m.times - 1}
	half := len(found) / 2
	switch m.kind {
	case "failed":
		w.faults["first dump failed"]++
		return found[:half], errors.New("the dump ended early")
	case "panicked":
		w.faults["first dump panicked"]++
		panic("the dump is bad")
	}
	w.faults["first dump without content"]++
	hollow := slices.Clone(found)
	for i := range hollow[half:] {
		hollow[half+i].Value = nil
	}
	return hollow, nil
}
