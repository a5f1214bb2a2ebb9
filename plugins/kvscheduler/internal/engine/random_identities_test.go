package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// identitiesOf returns the identities that values of one southbound may have.
func identitiesOf(key string) []string {
	if inSession(key) {
		return []string{"s/0", "s/1"}
	}
	return []string{"0", "1", "2", "3"}
}

// drawIdentities gives some of the values of a change an identity that no other desired
// value has afterwards. Values without a record and foreign values get none.
func (s *simulation) drawIdentities(values map[string]*model.Item) {
	if !s.identities || s.journal == nil {
		return
	}
	s.drawHandOver(values)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		it := values[key]
		if it == nil || len(it.Identities) > 0 || s.w.rules.of(key) != registry.Managed || s.w.others(key) {
			continue
		}
		id := rapid.SampledFrom(append([]string{"", ""}, identitiesOf(key)...)).Draw(s.T, "identity")
		if id != "" && !s.claimed(id, key, values) {
			it.Identities = []string{id}
		}
	}
}

// drawHandOver moves identities of desired values to others.
func (s *simulation) drawHandOver(values map[string]*model.Item) {
	for _, from := range slices.Sorted(maps.Keys(s.o.wanted)) {
		had := s.o.wanted[from]
		if len(had.Identities) == 0 || had.Invalid || rapid.IntRange(0, 2).Draw(s.T, "hand over") == 0 {
			continue
		}
		to := rapid.SampledFrom(baseKeys).Draw(s.T, "to")
		if to == from || inSession(to) != inSession(from) || s.w.rules.of(to) != registry.Managed || s.w.others(to) || len(values[to].GetIdentities()) > 0 {
			continue
		}
		if _, changes := values[from]; !changes {
			values[from] = proto.Clone(had).(*model.Item)
			values[from].Identities = nil
		}
		if _, changes := values[to]; !changes {
			values[to] = drawItem(s.T, to)
		}
		deleted := values[to] == nil // and must not become invalid: its own identity may be handed over
		if deleted || values[from].GetInvalid() || s.claimed(had.Identities[0], to, values) {
			continue
		}
		values[to].Identities = had.Identities
	}
}

// claimed reports whether the value of another key has an identity, after a
// change to values.
func (s *simulation) claimed(id, key string, values map[string]*model.Item) bool {
	has := func(it *model.Item) bool { return slices.Contains(it.GetIdentities(), id) }
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for other, it := range s.w.exists { // orphans, and what was given back
		if _, changes := values[other]; other != key && !changes && has(it) {
			return true
		}
	}
	for _, other := range baseKeys {
		if other == key {
			continue
		}
		next, changes := values[other]
		stays := !changes || next.GetInvalid() // which the old value survives
		if has(next) || stays && (has(s.o.wanted[other]) || has(s.o.kept[other])) {
			return true
		}
	}
	return false
}

// clash reports whether values have identities that other desired values got meanwhile.
func (s *simulation) clash(values map[string]*model.Item) bool {
	for key, it := range values {
		for _, id := range it.GetIdentities() {
			if s.claimed(id, key, values) {
				return true
			}
		}
	}
	return false
}

// taken is the key that has an identity of a value already; the lock is held.
func (w *world) taken(key string, it *model.Item) string {
	for other, o := range w.exists {
		for _, id := range it.GetIdentities() {
			if other != key && slices.Contains(o.GetIdentities(), id) {
				return other
			}
		}
	}
	return ""
}

// refuseTaken refuses a value with an identity that another one has.
func (w *world) refuseTaken(op, key string, it *model.Item) error {
	other := w.taken(key, it)
	if other == "" {
		return nil
	}
	w.refused = append(w.refused, fmt.Sprintf("%s %s: %s has its identity", op, key, other))
	return fmt.Errorf("%s %s: %s has its identity", op, key, other)
}

// vacate is the Vacate of descriptor "b".
func vacate(key string, it *model.Item) *model.Item {
	away := proto.Clone(it).(*model.Item)
	if len(away.Identities) > 0 {
		away.Identities = []string{"temporary/" + strings.ReplaceAll(key, "/", "-")}
	}
	return away
}

// TestRandomIdentities runs changes without faults: the southbound never has to refuse a
// value because another one still has its identity.
func TestRandomIdentities(t *testing.T) {
	t.Parallel()
	handedOver := 0
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, false)
		s.identities = true
		defer func() { s.stop() }()
		for range rapid.IntRange(4, 12).Draw(t, "steps") {
			before := s.holders()
			s.change()
			for id, key := range s.holders() {
				if before[id] != "" && before[id] != key {
					handedOver++
				}
			}
			s.converge()
		}
	})
	if handedOver == 0 {
		t.Error("no identity was handed over")
	}
	t.Logf("%d identities handed over", handedOver)
}

// holders are the keys that have the identities.
func (s *simulation) holders() map[string]string {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	holders := map[string]string{}
	for key, it := range s.w.exists {
		for _, id := range it.GetIdentities() {
			holders[id] = key
		}
	}
	return holders
}
