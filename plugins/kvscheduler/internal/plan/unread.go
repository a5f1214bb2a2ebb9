package plan

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Unread is the base values that are not known to exist or not, because
// reading them failed and nothing was known of them before. As long as they are
// not known to exist they are not created, as if their southbound were down; but
// what exists and needs one of them is not removed for that.
type Unread struct {
	Registry    *registry.Registry
	Descriptors map[*registry.Descriptor]bool // none of their values could be read
	Keys        map[string]bool               // single values of others
}

// Unsure is why a value stays as it is that shall become one with other
// dependencies that are not known to be met; see Hold.
const Unsure = "?"

// Base reports whether a base value may exist although it is not known
// to.
func (u *Unread) Base(key string, d *registry.Descriptor) bool {
	return u != nil && (u.Descriptors[d] || u.Keys[key])
}

// Meets reports whether something may meet the dependency that is not known to
// exist: a base value, or one derived from it.
func (u *Unread) Meets(dep *api.Dependency) bool {
	if u == nil {
		return false
	}
	if dep.Key != "" {
		return u.key(dep.Key)
	}
	for key := range u.Keys {
		if graph.Meets(dep, key) {
			return true
		}
	}
	for _, prefix := range dep.AnyOf.KeyPrefixes {
		if u.key(prefix+"x") || u.prefix(prefix) || u.selected(prefix) {
			return true
		}
	}
	return len(dep.AnyOf.KeyPrefixes) == 0
}

// prefix reports whether the keys of a descriptor may have the prefix.
func (u *Unread) prefix(prefix string) bool {
	for d := range u.Descriptors {
		if d.NBKeyPrefix != "" && (strings.HasPrefix(d.NBKeyPrefix, prefix) || strings.HasPrefix(prefix, d.NBKeyPrefix)) {
			return true
		}
	}
	return false
}

// selected reports whether the prefix may be of keys of a descriptor that is known
// by its selector alone. The keys are some other descriptor's if that has the
// prefix for its own, or what would be the next segment.
func (u *Unread) selected(prefix string) bool {
	owner, err := u.Registry.Lookup(prefix + "x")
	if err == nil && owner != nil &&
		(strings.HasSuffix(prefix, "/") || owner.NBKeyPrefix != "" && strings.HasPrefix(prefix, owner.NBKeyPrefix)) {
		return false // and key has looked at it
	}
	for d := range u.Descriptors {
		if d.NBKeyPrefix == "" && d.Retrieve != nil {
			return true
		}
	}
	return false
}

func (u *Unread) key(key string) bool {
	if u.Keys[key] {
		return true
	}
	d, err := u.Registry.Lookup(key)
	if err != nil || u.Descriptors[d] {
		return true
	}
	if d != nil && (d.NBKeyPrefix != "" || d.Retrieve != nil) {
		return false
	}
	// Values of this key are derived. From which base value, its key does not
	// report.
	for d := range u.Descriptors {
		if d.DerivedValues != nil {
			return true
		}
	}
	for key := range u.Keys {
		if d, _ := u.Registry.Lookup(key); d != nil && d.DerivedValues != nil {
			return true
		}
	}
	return false
}

// unsure reports whether an existing value with an unmet dependency stays
// all the same, because what meets it may exist.
func (p *planner) unsure(n *node) bool {
	if !n.exists() || !p.mayStand(n, n.have) {
		return false
	}
	other := false // it may not be what the new value needs
	p.lacks(n, n.target, func(_ graph.Reason, dep *api.Dependency) bool {
		other = !slices.ContainsFunc(n.have.Deps, func(d api.Dependency) bool { return sameDependency(&d, dep) })
		return !other
	})
	if !other {
		return true
	}
	if p.req.Unread == nil {
		return false
	}
	if n.base != nil && n.base.exists() && n.base.target != n.base.have {
		if _, recreate := p.change(n.base); recreate {
			return false // it goes down with its base
		}
	}
	n.target, n.unsure = n.have, true
	return true
}

// mayStand reports whether everything that v needs is in the target or may exist.
func (p *planner) mayStand(n *node, v *registry.Value) bool {
	stands := true
	p.lacks(n, v, func(why graph.Reason, _ *api.Dependency) bool {
		stands = why == graph.Unread
		return stands
	})
	return stands
}

func sameDependency(a, b *api.Dependency) bool {
	return a.Key == b.Key && a.Label == b.Label && slices.Equal(a.AnyOf.KeyPrefixes, b.AnyOf.KeyPrefixes) &&
		(a.AnyOf.KeySelector == nil) == (b.AnyOf.KeySelector == nil)
}
