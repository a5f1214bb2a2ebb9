package engine_test

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// oracle computes naively, over the whole graph, what must exist: the largest
// set of wanted values in which all dependencies are met.
type oracle struct {
	wanted   map[string]*model.Item // by the northbound
	notified map[string]*model.Item
	// kept are old values of keys whose wanted value is invalid.
	kept map[string]*model.Item
	w    *world // has what others made
	// down: the session of the values below "c/" is down.
	down bool
	// barred is a key in quarantine.
	barred string
}

// expectation is what must be.
type expectation struct {
	exists  map[string]*model.Item // values in the southbound
	fixed   map[string]bool        // the foreign ones among them, as they are
	left    map[string]bool        // those that the northbound wants otherwise
	pending []string               // wanted values that must wait
}

// expected is what must be once everything is settled. Adopted objects may lack
// what others of them provide only if they are changed, or only if they are not,
// so that there can be several solutions: left reports which were left as they are.
// Each of them must lack something if the others are left, or if all that can be
// changed are.
func (o *oracle) expected(left func(key string) bool) (e expectation) {
	adopted, as := map[string]*model.Item{}, map[string]bool{}
	for key, have := range o.w.strangers() {
		if o.adopts(key, have) {
			adopted[key] = o.inForce(key)
			if left(key) {
				as[key] = true
			}
		}
	}
	e = o.expectedBut(as)
	e.left = map[string]bool{}
	unable := o.unable(adopted)
	for key, want := range adopted {
		if e.exists[key] != nil && (as[key] && unable[key] || !o.met(e.exists, want)) {
			e.left[key] = true
		}
	}
	for key, have := range o.w.strangers() {
		if o.inForce(key) != nil && e.exists[key] != nil && !o.adopts(key, have) {
			e.left[key] = true
		}
	}
	return e
}

// unable returns the adopted values that lack something if all are changed, those that
// lack something if these are left as they are, and so on.
func (o *oracle) unable(adopted map[string]*model.Item) map[string]bool {
	unable := map[string]bool{}
	for {
		exists, before := o.expectedBut(unable).exists, len(unable)
		for key, want := range adopted {
			if !o.met(exists, want) {
				unable[key] = true
			}
		}
		if len(unable) == before {
			return unable
		}
	}
}

// expectedBut is the same if some adopted values are left as they are.
func (o *oracle) expectedBut(left map[string]bool) expectation {
	values := map[string]*model.Item{}
	base := map[string]string{}
	for key := range o.wanted {
		it := o.inForce(key)
		if it == nil || key == o.barred {
			continue
		}
		values[key] = it
		for _, d := range it.Derived {
			if !d.Item.Invalid {
				values[d.Key], base[d.Key] = d.Item, key
			}
		}
	}
	fixed := o.addOthers(values, base, left)
	in := maps.Clone(values)
	for changed := true; changed; {
		changed = false
		for key, it := range in {
			b, derived := base[key]
			if fixed[key] && !(derived && in[b] == nil) {
				continue
			}
			if derived && in[b] == nil || o.down && inSession(key) || !o.met(in, it) {
				delete(in, key)
				changed = true
			}
		}
	}
	e := expectation{exists: in, fixed: fixed}
	for key := range values {
		b, derived := base[key]
		if in[key] == nil && (!derived || in[b] != nil) {
			e.pending = append(e.pending, key)
		}
	}
	slices.Sort(e.pending)
	return e
}

func (o *oracle) met(in map[string]*model.Item, it *model.Item) bool {
	has := func(key string) bool { return in[key] != nil || o.notified[key] != nil }
	for _, dep := range it.Deps {
		if !has(dep) {
			return false
		}
	}
	if len(it.AnyOf) == 0 {
		return true
	}
	for _, prefix := range it.AnyOf {
		for _, set := range []map[string]*model.Item{in, o.notified} {
			for key := range set {
				if strings.HasPrefix(key, prefix) {
					return true
				}
			}
		}
	}
	return false
}

// reach is the graph of all dependencies that were ever desired in this run. It finds
// the keys that can reach themselves.
type reach struct {
	mu    sync.Mutex // operations ask while the test adds
	edges map[string]map[string]bool
}

func (r *reach) add(key string, it *model.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addAll(key, it)
}

func (r *reach) addAll(key string, it *model.Item) {
	for _, d := range it.Derived {
		r.edge(d.Key, key)
		r.addAll(d.Key, d.Item)
	}
	for _, dep := range it.Deps {
		r.edge(key, dep)
	}
	for _, prefix := range it.AnyOf {
		r.edge(key, prefix+"*")
	}
}

func (r *reach) edge(from, to string) {
	if r.edges[from] == nil {
		r.edges[from] = map[string]bool{}
	}
	r.edges[from][to] = true
}

func (r *reach) cyclic(start string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	var visit func(key string) bool
	visit = func(key string) bool {
		if key == start && len(seen) > 0 {
			return true
		}
		if seen[key] {
			return false
		}
		seen[key] = true
		for to := range r.edges[key] {
			if prefix, any := strings.CutSuffix(to, "*"); any {
				for k := range r.edges {
					if strings.HasPrefix(k, prefix) && visit(k) {
						return true
					}
				}
				if strings.HasPrefix(start, prefix) {
					return true
				}
			} else if visit(to) {
				return true
			}
		}
		return false
	}
	return visit(start)
}
