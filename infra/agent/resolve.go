package agent

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra"
)

// member is a plugin of the agent.
type member struct {
	infra.Plugin
	name  string
	found string    // where it was found first: "AllPlugins[0]", "a.Deps.B"
	needs []*member // its direct dependencies
}

// root is a plugin named by an option.
type root struct {
	plugin infra.Plugin
	found  string
	deep   bool // with all its dependencies
}

// wiring is the result of the resolver: the plugins in the order of Init, and
// all errors.
type wiring struct {
	members []*member
	errs    []error
}

// resolver walks the exported fields of plugins, depth first.
type resolver struct {
	wiring
	seen  map[infra.Plugin]*member
	stack []step
}

// step is a dependency on the current path of the walk.
type step struct {
	m     *member
	field string // of m, through which the walk continued; empty at the top of the stack
}

// dep is one dependency found in the fields of a plugin.
type dep struct {
	path   string
	plugin infra.Plugin
}

var (
	pluginType = reflect.TypeFor[infra.Plugin]()
	depsType   = reflect.TypeFor[infra.PluginDeps]()
	validName  = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)
)

func resolve(roots []root) wiring {
	r := &resolver{seen: map[infra.Plugin]*member{}}
	var shallow []*member
	for _, root := range roots {
		if !r.usable(root.plugin, root.found) || r.seen[root.plugin] != nil {
			continue
		}
		if root.deep {
			r.visit(root.plugin, root.found)
		} else {
			m := r.enter(root.plugin, root.found)
			r.members = append(r.members, m)
			shallow = append(shallow, m)
		}
	}
	for _, m := range shallow {
		r.connect(m)
	}
	r.checkNames()
	return r.wiring
}

func (r *resolver) fail(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// usable rejects values that cannot be plugins: nil and non-pointers.
func (r *resolver) usable(p infra.Plugin, found string) bool {
	v := reflect.ValueOf(p)
	switch {
	case p == nil || v.Kind() == reflect.Pointer && v.IsNil():
		r.fail("plugin %s is nil", found)
	case v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct:
		r.fail("plugin %s is a %s: expected a pointer to a struct", found, v.Type())
	default:
		return true
	}
	return false
}

// enter records a plugin and calls its SetDefaults.
func (r *resolver) enter(p infra.Plugin, found string) *member {
	m := &member{Plugin: p, found: found}
	r.seen[p] = m
	if d, ok := p.(infra.Defaulter); ok {
		if err := guard(func() error { d.SetDefaults(); return nil }); err != nil {
			r.fail("plugin %s (%T): set defaults: %w", found, p, err)
		}
	}
	if err := guard(func() error { m.name = p.String(); return nil }); err != nil {
		r.fail("plugin %s (%T): name: %w", found, p, err)
	}
	return m
}

// visit adds a plugin after all its dependencies.
func (r *resolver) visit(p infra.Plugin, found string) *member {
	m := r.enter(p, found)
	r.stack = append(r.stack, step{m: m})
	for _, d := range r.dependencies(m) {
		r.stack[len(r.stack)-1].field = d.path
		need := r.seen[d.plugin]
		switch {
		case need == nil:
			need = r.visit(d.plugin, d.path)
		case r.onStack(need):
			r.fail("dependency cycle: %s", r.cycle(need))
			continue
		}
		m.needs = append(m.needs, need)
	}
	r.stack = r.stack[:len(r.stack)-1]
	r.members = append(r.members, m)
	return m
}

func (r *resolver) onStack(m *member) bool {
	return slices.ContainsFunc(r.stack, func(s step) bool { return s.m == m })
}

// cycle prints the path from a plugin back to itself: "a.Deps.B -> b.Deps.A".
func (r *resolver) cycle(from *member) string {
	var path []string
	for _, s := range r.stack {
		if s.m == from || path != nil {
			path = append(path, s.field)
		}
	}
	return strings.Join(path, " -> ")
}

// connect checks the dependencies of a plugin that was added by Plugins.
func (r *resolver) connect(m *member) {
	for _, d := range r.dependencies(m) {
		need := r.seen[d.plugin]
		switch {
		case need == nil:
			r.fail("dependency %s (%T) is not among the plugins of the agent: list it, or use AllPlugins", d.path, d.plugin)
			continue
		case need == m:
			r.fail("dependency cycle: %s", d.path)
			continue
		case slices.Index(r.members, need) > slices.Index(r.members, m):
			r.fail("dependency %s is listed after the plugin that needs it: list %q before %q, or use AllPlugins",
				d.path, need.name, m.name)
		}
		m.needs = append(m.needs, need)
	}
}

func (r *resolver) checkNames() {
	byName := map[string]*member{}
	for _, m := range r.members {
		other := byName[m.name]
		switch {
		case m.name == "":
			r.fail("plugin %s (%T) has no name: set one with SetName, or return one from String", m.found, m.Plugin)
		case !validName.MatchString(m.name):
			r.fail("plugin %s (%T) has the name %q: expected letters, digits, '.', '_' and '-'", m.found, m.Plugin, m.name)
		case other != nil:
			r.fail("two plugins have the name %q: %s (%T) and %s (%T)", m.name, other.found, other.Plugin, m.found, m.Plugin)
		}
		byName[m.name] = m
	}
}

// dependencies lists the plugins in the exported fields of a plugin, in the
// order of the fields, and reports nil fields.
func (r *resolver) dependencies(m *member) []dep {
	label := cmp.Or(m.name, reflect.TypeOf(m.Plugin).Elem().Name())
	var deps []dep
	r.structure(reflect.ValueOf(m.Plugin).Elem(), label, false, &deps)
	return deps
}

// structure walks one struct. Anonymous structs are part of it. inDeps reports
// that the struct is called Deps, where every nil interface is an error.
func (r *resolver) structure(v reflect.Value, path string, inDeps bool, deps *[]dep) {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		if sf.Type == depsType || !sf.IsExported() && !(sf.Anonymous && sf.Type.Kind() == reflect.Struct) {
			continue
		}
		r.field(v.Field(i), walk{
			path: path + "." + sf.Name, inDeps: inDeps, anonymous: sf.Anonymous,
			optional: sf.Tag.Get("optional") == "true", name: sf.Name,
		}, deps)
	}
}

// walk is the position of a value in the walk.
type walk struct {
	path, name                  string
	inDeps, anonymous, optional bool
}

func (r *resolver) field(v reflect.Value, w walk, deps *[]dep) {
	t := v.Type()
	isPlugin := t.Implements(pluginType)
	switch t.Kind() {
	case reflect.Interface:
		held := v.Elem()
		switch {
		case v.IsNil() || held.Kind() == reflect.Pointer && held.IsNil():
			if w.inDeps || isPlugin {
				r.isNil(t, w)
			}
		default:
			w.anonymous = false
			r.field(held, w, deps)
		}
	case reflect.Pointer:
		switch {
		case !isPlugin: // plain data
		case v.IsNil():
			r.isNil(t, w)
		default:
			r.add(v, w, deps)
		}
	case reflect.Struct:
		switch {
		case v.CanAddr() && v.Addr().CanInterface() && reflect.PointerTo(t).Implements(pluginType):
			r.add(v.Addr(), w, deps)
		case isPlugin:
			r.fail("dependency %s is a %s: expected a pointer", w.path, t)
		case w.anonymous:
			r.structure(v, w.path, w.inDeps || w.name == "Deps", deps)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			item := w
			item.path, item.anonymous = fmt.Sprintf("%s[%d]", w.path, i), false
			r.field(v.Index(i), item, deps)
		}
	}
}

func (r *resolver) isNil(t reflect.Type, w walk) {
	if !w.optional {
		r.fail("dependency %s (%s) is nil: set it, or tag the field `optional:\"true\"`", w.path, t)
	}
}

func (r *resolver) add(v reflect.Value, w walk, deps *[]dep) {
	p := v.Interface().(infra.Plugin)
	if r.usable(p, w.path) {
		*deps = append(*deps, dep{w.path, p})
	}
}

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanicError(p)
		}
	}()
	return f()
}

func (w wiring) err() error { return errors.Join(w.errs...) }
