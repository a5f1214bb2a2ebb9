package graph_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

func on(key string) api.Dependency { return api.Dependency{Label: key, Key: key} }

func anyOf(prefixes ...string) api.Dependency {
	return api.Dependency{Label: "any", AnyOf: api.AnyOfDependency{KeyPrefixes: prefixes}}
}

func chosen(part string) api.Dependency {
	return api.Dependency{Label: "chosen", AnyOf: api.AnyOfDependency{KeySelector: func(key string) bool { return strings.Contains(key, part) }}}
}

func value(deps ...api.Dependency) *registry.Value {
	return &registry.Value{Msg: &model.Item{}, Deps: deps}
}

// dependents are the keys of those that depend on the key, sorted.
func dependents(g *graph.Graph, key string) []string {
	found := map[string]bool{}
	note := func(n *graph.Node) { found[n.Key] = true }
	g.Naming(key, note)
	g.AnyOfDependents(key, func(graph.KeyPattern) bool { return false }, note)
	return slices.Sorted(maps.Keys(found))
}

func TestMeets(t *testing.T) {
	t.Parallel()
	both := anyOf("tap/", "bond/")
	both.AnyOf.KeySelector = func(key string) bool { return strings.HasSuffix(key, "1") }
	for _, c := range []struct {
		dep  api.Dependency
		key  string
		want bool
	}{
		{on("tap/1"), "tap/1", true},
		{on("tap/1"), "tap/10", false},
		{anyOf("tap/", "bond/"), "bond/7", true},
		{anyOf("tap/"), "tap", false},
		{both, "bond/1", true},
		{both, "bond/2", false},
		{both, "x/1", false},
		{chosen("/up"), "tap/1/up", true},
		{api.Dependency{Label: "nothing"}, "tap/1", false},
	} {
		if got := graph.Meets(&c.dep, c.key); got != c.want {
			t.Errorf("%+v meets %s: %v", c.dep, c.key, got)
		}
	}
}

func TestDependentsFollowBothValues(t *testing.T) {
	t.Parallel()
	g := graph.New()
	n := g.Ensure("route/1", nil, nil)
	steps := []struct {
		want, have *registry.Value
		on         string // keys; route/1 depends on some of them
	}{
		{nil, nil, ""},
		{value(on("a")), nil, "a"},
		{value(on("b")), value(on("a")), "a b"},
		{nil, value(on("a"), anyOf("b")), "a b"},
		{value(chosen("c")), nil, "c"},
		{nil, nil, ""},
	}
	for i, s := range steps {
		g.SetWant(n, s.want)
		exist(g, n, s.have)
		for _, key := range []string{"a", "b", "c"} {
			want := strings.Contains(s.on, key)
			if got := len(dependents(g, key)) > 0; got != want {
				t.Errorf("step %d: depends on %s: %v", i, key, got)
			}
		}
	}
}

// A waiting value is found by what its future pieces need.
func TestWait(t *testing.T) {
	t.Parallel()
	g := graph.New()
	n := g.Ensure("tap/1", nil, nil)
	v := value()
	v.Derived = []registry.Derived{{Key: "piece/1", Value: value(on("route/1"))}}
	g.SetWant(n, v)
	if got := dependents(g, "route/1"); len(got) != 0 {
		t.Errorf("before: %v", got)
	}
	g.Wait(n)
	if got := dependents(g, "route/1"); !slices.Equal(got, []string{"tap/1"}) {
		t.Errorf("waiting: %v", got)
	}
	exist(g, n, v)
	if got := dependents(g, "route/1"); len(got) != 0 {
		t.Errorf("it exists: %v", got)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	g := graph.New()
	base := g.Ensure("tap/1", nil, nil)
	piece := g.Ensure("piece/1", nil, base)
	g.SetWant(piece, value())
	g.Forget(base)
	g.Forget(piece)
	if g.Len() != 2 || base.Gone || piece.Root() != base || !piece.IsDerived() {
		t.Fatalf("a desired value was forgotten, or its base: %d nodes", g.Len())
	}
	g.SetWant(piece, nil)
	piece.Err = errors.New("failed")
	if g.Forget(piece); g.Len() != 2 {
		t.Error("a failure was forgotten")
	}
	piece.Err = nil
	if g.Forget(piece); g.Len() != 0 || !base.Gone || !piece.Gone {
		t.Errorf("%d nodes stay", g.Len())
	}
	if g.Node("tap/1") != nil || g.Ensure("tap/1", nil, nil) == base {
		t.Error("a node came back")
	}
}

func TestDerivedComeAndGo(t *testing.T) {
	t.Parallel()
	g := graph.New()
	base := g.Ensure("tap/1", nil, nil)
	if !base.IsLeaf() {
		t.Error("without derived nodes it is no leaf")
	}
	for _, key := range []string{"a", "b", "c"} {
		g.SetWant(g.Ensure(key, nil, base), value())
	}
	if base.IsLeaf() || base.Child(1, "b") != g.Node("b") || base.Child(0, "b") != nil || base.Child(3, "c") != nil {
		t.Error("derived nodes are not where they came")
	}
	for _, c := range []struct{ gone, left string }{{"a", "b c"}, {"c", "b"}, {"b", ""}} {
		n := g.Node(c.gone)
		g.SetWant(n, nil)
		g.Forget(n)
		var left []string
		for d := range base.Derived {
			left = append(left, d.Key)
		}
		slices.Sort(left)
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("without %s: %q, expected %q", c.gone, got, c.left)
		}
	}
	if !base.Gone || g.Ensure("a", nil, nil).IsDerived() {
		t.Error("the base stayed, or its derived value was still a derived one")
	}
}

func TestMetadataFollowsTheValue(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	r, err := registry.New(nil).With([]*api.KVDescriptor{sb.Descriptor("tap", "tap/", kvstest.WithMetadata())})
	if err != nil {
		t.Fatal(err)
	}
	g, d := graph.New(), r.ByName("tap")
	n := g.Ensure("tap/1", d, nil)
	if err := g.SetHave(n, value(), &kvstest.Meta{Handle: 7}, graph.Created); err != nil {
		t.Fatal(err)
	}
	if d.Metadata.Len() != 1 || n.Meta.(*kvstest.Meta).Handle != 7 {
		t.Errorf("%d labels, metadata %v", d.Metadata.Len(), n.Meta)
	}
	if g.Remove(n, graph.Deleted); n.Meta != nil || d.Metadata.Len() != 0 {
		t.Errorf("without a value: %v, %d labels", n.Meta, d.Metadata.Len())
	}
}

// naive is what a graph says about dependencies, found without indexes.
type naive map[string][2]*registry.Value

func (m naive) dependents(key string) (found []string) {
	for k, values := range m {
		for _, v := range values {
			if v != nil && slices.ContainsFunc(v.Deps, func(d api.Dependency) bool { return graph.Meets(&d, key) }) {
				found = append(found, k)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

func (m naive) provider(dep *api.Dependency) bool {
	for k, values := range m {
		if values[1] != nil && graph.Meets(dep, k) {
			return true
		}
	}
	return false
}

// The indexes say the same as looking at everything.
func TestIndexesRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%s/%d", rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(t, "kind"), rapid.IntRange(0, 3).Draw(t, "n"))
		})
		dep := rapid.Custom(func(t *rapid.T) api.Dependency {
			switch rapid.IntRange(0, 2).Draw(t, "form") {
			case 0:
				return on(key.Draw(t, "key"))
			case 1:
				return anyOf(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a/", "ab/", "b/1", ""}), 1, 2).Draw(t, "prefixes")...)
			}
			return chosen(rapid.SampledFrom([]string{"/1", "b"}).Draw(t, "part"))
		})
		some := rapid.Custom(func(t *rapid.T) *registry.Value {
			if rapid.Bool().Draw(t, "none") {
				return nil
			}
			return value(rapid.SliceOfN(dep, 0, 3).Draw(t, "deps")...)
		})
		g, m := graph.New(), naive{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k, want, have := key.Draw(t, "key"), some.Draw(t, "want"), some.Draw(t, "have")
			if rapid.Bool().Draw(t, "same") {
				have = want
			}
			n := g.Ensure(k, nil, nil)
			g.SetWant(n, want)
			exist(g, n, have)
			g.Forget(n)
			m[k] = [2]*registry.Value{want, have}
			probe, asked := key.Draw(t, "probe"), dep.Draw(t, "asked")
			got := dependents(g, probe)
			if want := m.dependents(probe); !slices.Equal(got, want) {
				t.Fatalf("dependents of %s: %v, want %v", probe, got, want)
			}
			if w := g.Provider(&asked); (w != nil) != m.provider(&asked) || w != nil && (w.Have == nil || !graph.Meets(&asked, w.Key)) {
				t.Fatalf("provider of %+v: %v", asked, w)
			}
		}
	})
}
