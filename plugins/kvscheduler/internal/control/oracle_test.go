package control_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// oracle computes naively, over the whole graph, what must exist: the largest
// set of wanted values in which all dependencies are met.
type oracle struct {
	wanted   map[string]*model.Item // by the northbound
	notified map[string]*model.Item
	// kept are old values of keys whose wanted value is invalid.
	kept map[string]*model.Item
	// down: the session of the values below "c/" is down.
	down bool
}

// expected are the values that must exist in the southbound, and the wanted
// ones that must wait.
func (o *oracle) expected() (exists map[string]*model.Item, pending []string) {
	values := map[string]*model.Item{}
	base := map[string]string{}
	add := func(key string, it *model.Item) {
		values[key] = it
		for _, d := range it.Derived {
			if !d.Item.Invalid {
				values[d.Key], base[d.Key] = d.Item, key
			}
		}
	}
	for key, it := range o.wanted {
		if !it.Invalid {
			add(key, it)
		} else if old := o.kept[key]; old != nil {
			add(key, old)
		}
	}
	in := maps.Clone(values)
	for changed := true; changed; {
		changed = false
		for key, it := range in {
			b, derived := base[key]
			if derived && in[b] == nil || o.down && inSession(key) || !o.met(in, it) {
				delete(in, key)
				changed = true
			}
		}
	}
	for key := range values {
		b, derived := base[key]
		if in[key] == nil && (!derived || in[b] != nil) {
			pending = append(pending, key)
		}
	}
	slices.Sort(pending)
	return in, pending
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

// cyclic tells whether the key can reach itself over any dependency that was
// ever wanted in this run.
type reach struct{ edges map[string]map[string]bool }

func (r *reach) add(key string, it *model.Item) {
	for _, d := range it.Derived {
		r.edge(d.Key, key)
		r.add(d.Key, d.Item)
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
