package engine_test

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// rules are ownership policies by key prefix; the longest prefix decides.
type rules map[string]registry.Policy

func (r rules) of(key string) registry.Policy {
	best := ""
	for prefix := range r {
		if strings.HasPrefix(key, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return r[best]
}

// table is what the scheduler gets of the rules.
func (r rules) table() registry.Policies {
	if len(r) == 0 {
		return nil
	}
	return func(d *api.KVDescriptor, key string) registry.Policy {
		if key != "" {
			return r.of(key)
		}
		for prefix := range r { // one that differs
			if strings.HasPrefix(prefix, d.Name+"/") && r[prefix] != r.of(d.Name+"/") {
				return registry.Managed
			}
		}
		return r.of(d.Name + "/")
	}
}

// forbidden says why there must be no operation on a key; empty: there may be.
// The lock is held.
func (w *world) forbidden(op, key string) string {
	base, derived := baseOfDerived(key)
	policy := w.rules.of(base)
	switch {
	case key == w.unseen: // Create finds it
	case policy == registry.Observe || policy == registry.Ignore:
		return "which is not to be touched"
	case !w.foreign[base]:
	case !w.asked(base):
		return "which is foreign"
	case policy == registry.Adopt && op != "update" && !derived:
		return "which was adopted"
	}
	return ""
}

// others reports whether another process created a value or its base.
func (w *world) others(key string) bool {
	base, _ := baseOfDerived(key)
	return w.foreign[base]
}

// untaken reports whether a managed value is unchanged since another process created
// it, desired or not: it has no record yet.
func (w *world) untaken(key string) bool {
	return (w.foreign[key] || w.raw[key] && w.exists[key] != nil) && w.rules.of(key) == registry.Managed
}

// forget is a scheduler without a journal that ends. The next one treats as another
// agent's what it is to adopt, and what it is not asked for, whatever mark it has.
func (w *world) forget(which, wanted func(key string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, it := range w.exists {
		if _, derived := baseOfDerived(key); derived || !which(key) {
			continue
		}
		switch {
		case w.rules.of(key) == registry.Adopt:
			w.foreign[key] = true
		case !wanted(key):
			w.foreign[key], w.raw[key], w.placed[key] = true, true, it
			for other, piece := range w.exists {
				if strings.HasPrefix(other, "d/"+key+"/") {
					w.raw[other], w.placed[other] = true, piece
				}
			}
		}
	}
}

// strangers are the base values that others made and the scheduler looks at.
func (w *world) strangers() map[string]*model.Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]*model.Item{}
	for key := range w.foreign {
		if w.rules.of(key) != registry.Ignore && w.exists[key] != nil {
			found[key] = w.exists[key]
		}
	}
	return found
}

// derivedOf are the derived values of a base value that exist.
func (w *world) derivedOf(base string) map[string]*model.Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]*model.Item{}
	for key, it := range w.exists {
		if strings.HasPrefix(key, "d/"+base+"/") {
			found[key] = it
		}
	}
	return found
}

// place makes a foreign object, with its derived values.
func (w *world) place(key string, it *model.Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[strangers]++
	w.serial++
	w.exists[key], w.meta[key], w.foreign[key], w.raw[key], w.placed[key] = it, w.serial, true, true, it
	for _, d := range it.Derived {
		if strings.HasPrefix(d.Key, "d/") {
			w.exists[d.Key], w.raw[d.Key], w.placed[d.Key] = d.Item, true, d.Item
		}
	}
}

// free reports that nothing of a base value exists.
func (w *world) free(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := range w.exists {
		if base, _ := baseOfDerived(k); base == key {
			return false
		}
	}
	return true
}

// untouched are the objects that others made, with their metadata, which distinguishes one from
// the next of its key.
func (w *world) untouched() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]int{}
	for key := range w.foreign {
		if w.raw[key] {
			found[key] = w.meta[key]
		}
	}
	return found
}

// stillOthers ends the claim on objects of others that the northbound wanted for a while
// and that no operation was about: their southbound was out of reach, perhaps, so that the
// scheduler never had them.
func (w *world) stillOthers(objects map[string]int, wanted map[string]*model.Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, meta := range objects {
		if w.exists[key] != nil && w.meta[key] == meta && w.raw[key] && wanted[key] == nil {
			w.foreign[key] = true
		}
	}
}

// soil updates after an operation whether a value is as another process created it,
// which it may be again after a revert. The lock is held.
func (w *world) soil(key string) {
	delete(w.raw, key)
	if it, was := w.exists[key], w.placed[key]; it != nil && was != nil && clean(it) == clean(was) {
		w.raw[key] = true
	}
}

// changeable reports whether a foreign value already is as desired, or can be updated
// without a re-creation.
func changeable(key string, have, want *model.Item) bool {
	return sameItem(key, have, want) || !strings.HasPrefix(key, "c/") && !have.Recreate && !want.Recreate
}

// addOthers adds the values of other processes, and replaces desired states that they
// cannot reach. left are adopted objects that lack something. It returns the keys of
// the values that exist in any case.
func (o *oracle) addOthers(values map[string]*model.Item, base map[string]string, left map[string]bool) (fixed map[string]bool) {
	fixed = map[string]bool{}
	for key, have := range o.w.strangers() {
		if o.down && inSession(key) {
			continue
		}
		fixed[key] = true
		if o.adopts(key, have) && !left[key] {
			continue
		}
		for dk, b := range base {
			if b == key {
				delete(values, dk)
				delete(base, dk)
			}
		}
		values[key] = have
		add := func(dk string, it *model.Item) { values[dk], base[dk], fixed[dk] = it, key, true }
		for dk, it := range o.w.derivedOf(key) {
			add(dk, it)
		}
		for _, d := range have.Derived {
			if strings.HasPrefix(d.Key, "p/") {
				add(d.Key, d.Item)
			}
		}
	}
	return fixed
}

// adopts reports whether a foreign object can reach its desired state once its
// dependencies are met.
func (o *oracle) adopts(key string, have *model.Item) bool {
	want := o.inForce(key)
	return want != nil && o.w.rules.of(key) == registry.Adopt && changeable(key, have, want)
}

// inForce returns the desired state of a key, or the last valid one; nil if the
// scheduler cannot apply it.
func (o *oracle) inForce(key string) *model.Item {
	it := o.wanted[key]
	if it != nil && it.Invalid {
		it = o.kept[key]
	}
	if p := o.w.rules.of(key); p == registry.Observe || p == registry.Ignore {
		return nil
	}
	return it
}

func clean(it *model.Item) string {
	c := proto.Clone(it).(*model.Item)
	c.Note, c.Derived = "", nil
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	return string(b)
}

func (w *world) ruleOf(key string) registry.Policy {
	base, _ := baseOfDerived(key)
	return w.rules.of(base)
}
