package agent_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

func TestOrderFollowsDependencies(t *testing.T) {
	t.Parallel()
	d := &diary{}
	base := d.plugin("base")
	left, right := d.plugin("left", base), d.plugin("right", base)
	top := d.plugin("top", left, right)
	list := d.plugin("list", top, &bare{"bare"})
	list.B = base

	for name, test := range map[string]struct {
		option agent.Option
		want   []string
	}{
		"alone":               {agent.AllPlugins(base), []string{"base"}},
		"one level":           {agent.AllPlugins(left), []string{"base", "left"}},
		"shared is once":      {agent.AllPlugins(top), []string{"base", "left", "right", "top"}},
		"fields in order":     {agent.AllPlugins(list), []string{"base", "left", "right", "top", "bare", "list"}},
		"roots that overlap":  {agent.AllPlugins(base, top, left), []string{"base", "left", "right", "top"}},
		"exactly those given": {agent.Plugins(base, right, left), []string{"base", "right", "left"}},
	} {
		a := agent.NewAgent(test.option)
		if got := a.Plugins(); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// Shapes of dependencies that the walk must see, or must not.
type shapes struct {
	infra.PluginDeps
	Direct    *named
	Value     named // a plugin by value, in place
	hidden    *named
	Interface interface{ Hello() }
	Array     [2]*named
	Untyped   any
	Group     struct{ P *named } // a named struct is data
	Map       map[string]*named
	Embedded
	deeper
}

type Embedded struct{ InEmbedded *named }
type deeper struct{ InDeeper *named }

type named struct{ infra.PluginDeps }

func (*named) Init() error { return nil }
func (*named) Hello()      {}

func newNamed(name string) *named {
	p := &named{}
	p.SetName(name)
	return p
}

func (*shapes) Init() error { return nil }

func TestWalkSeesPluginsInFields(t *testing.T) {
	t.Parallel()
	s := &shapes{
		Direct: newNamed("direct"), hidden: newNamed("hidden"), Interface: newNamed("interface"),
		Array:   [2]*named{newNamed("array0"), newNamed("array1")},
		Untyped: []infra.Plugin{newNamed("untyped")}, Map: map[string]*named{"x": newNamed("map")},
		Embedded: Embedded{newNamed("embedded")}, deeper: deeper{newNamed("deeper")},
	}
	s.SetName("shapes")
	s.Value.SetName("value")
	s.Group.P = newNamed("group")
	want := []string{"direct", "value", "interface", "array0", "array1", "untyped", "embedded", "deeper", "shapes"}
	a := newAgent(t, agent.AllPlugins(s))
	if got := a.Plugins(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Error(err)
	}
}

// strict has a dependency that must be set.
type strict struct {
	infra.PluginDeps
	Other *named
}

func (*strict) Init() error { return nil }

// ring needs another ring.
type ring struct {
	infra.PluginDeps
	Next infra.Plugin
}

func (*ring) Init() error { return nil }

func newRing(name string) *ring {
	r := &ring{}
	r.SetName(name)
	return r
}

// struckt is a plugin that is not a pointer.
type struckt struct{}

func (s struckt) Init() error    { return nil }
func (s struckt) Close() error   { return nil }
func (s struckt) String() string { return "struckt" }

func TestWiringErrors(t *testing.T) {
	t.Parallel()
	d := &diary{}
	nilPlugin := (*named)(nil)
	a, b, c := newRing("a"), newRing("b"), newRing("c")
	a.Next, b.Next, c.Next = b, c, b
	incomplete := &strict{}
	incomplete.SetName("incomplete")
	needy := d.plugin("needy", newNamed("absent"))
	late, early := newNamed("late"), d.plugin("early")
	early.A = late
	twins := d.plugin("twins", newNamed("twin"), &bare{"twin"})
	nested := d.plugin("nested", struckt{})

	for name, test := range map[string]struct {
		option agent.Option
		want   []string
	}{
		"nil root":         {agent.AllPlugins(nilPlugin, nil), []string{"plugin AllPlugins[0] is nil", "plugin AllPlugins[1] is nil"}},
		"no pointer":       {agent.Plugins(struckt{}), []string{"plugin Plugins[0] is a agent_test.struckt: expected a pointer"}},
		"no pointer below": {agent.AllPlugins(nested), []string{"dependency nested.Deps.More[0] is a agent_test.struckt: expected a pointer"}},
		"nil dependency":   {agent.AllPlugins(incomplete), []string{"dependency incomplete.Other (*agent_test.named) is nil"}},
		"cycle":            {agent.AllPlugins(a), []string{"dependency cycle: b.Next -> c.Next"}},
		"no name":          {agent.AllPlugins(&bare{}), []string{"has no name"}},
		"bad name":         {agent.AllPlugins(&bare{"a b"}), []string{`has the name "a b": expected letters`}},
		"name twice":       {agent.AllPlugins(twins), []string{`two plugins have the name "twin": twins.Deps.More[0] (*agent_test.named) and twins.Deps.More[1] (*agent_test.bare)`}},
		"absent":           {agent.Plugins(needy), []string{"dependency needy.Deps.More[0] (*agent_test.named) is not among the plugins"}},
		"wrong order":      {agent.Plugins(early, late), []string{`dependency early.Deps.A is listed after the plugin that needs it: list "late" before "early"`}},
		"all at once": {agent.AllPlugins(incomplete, a, struckt{}), []string{
			"incomplete.Other", "b.Next -> c.Next", "AllPlugins[2] is a agent_test.struckt"}},
	} {
		ag := newAgent(t, test.option)
		err := ag.Start(t.Context())
		if err == nil {
			t.Errorf("%s: the start succeeded", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s:\n got %v\nwant %s", name, err, want)
			}
		}
	}
}

// free has an interface outside its Deps, which may be nil.
type free struct {
	infra.PluginDeps
	Svc interface{ Hello() }
}

func (*free) Init() error { return nil }

func TestNilInterfacesCountOnlyInDeps(t *testing.T) {
	t.Parallel()
	w := &free{}
	w.SetName("w")
	if err := newAgent(t, agent.AllPlugins(w)).Start(t.Context()); err != nil {
		t.Errorf("outside Deps: %v", err)
	}
	d := (&diary{}).plugin("d")
	d.Svc = nil
	err := newAgent(t, agent.AllPlugins(d)).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "dependency d.Deps.Svc (agent_test.greeter) is nil") {
		t.Errorf("in Deps: got %v", err)
	}
	var none *named
	d.Svc = none // a nil pointer in an interface is as nil
	err = newAgent(t, agent.AllPlugins(d)).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "dependency d.Deps.Svc") {
		t.Errorf("nil pointer: got %v", err)
	}
}

// defaulted fills its dependency itself.
type defaulted struct {
	infra.PluginDeps
	Other *named
}

func (d *defaulted) Init() error { return nil }
func (d *defaulted) SetDefaults() {
	d.SetName("defaulted")
	d.Other = newNamed("filled")
}

type brokenDefaults struct{ bare }

func (*brokenDefaults) SetDefaults() { panic("no luck") }

func TestSetDefaultsRunsBeforeTheWalk(t *testing.T) {
	t.Parallel()
	a := agent.NewAgent(agent.AllPlugins(&defaulted{}))
	if got, want := a.Plugins(), []string{"filled", "defaulted"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	err := newAgent(t, agent.AllPlugins(&brokenDefaults{bare{"x"}})).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "set defaults: panic: no luck") {
		t.Errorf("got %v", err)
	}
}

func TestGraph(t *testing.T) {
	t.Parallel()
	d := &diary{}
	base := d.plugin("base")
	var out bytes.Buffer
	if err := agent.NewAgent(agent.Name("app"), agent.AllPlugins(d.plugin("top", base))).Graph(&out); err != nil {
		t.Fatal(err)
	}
	want := `digraph "app" {
	rankdir=LR;
	node [shape=box];
	"base" [label="1. base\nagent_test.fake"];
	"top" [label="2. top\nagent_test.fake"];
	"top" -> "base";
}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
