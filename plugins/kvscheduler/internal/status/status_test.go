package status_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/status"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

type fixture struct {
	t *testing.T
	r *registry.Registry
	g *graph.Graph
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	sb := kvstest.NewMockSB()
	r, err := registry.New(nil).With([]*api.KVDescriptor{
		sb.Descriptor("tap", "tap/"), sb.Descriptor("route", "route/"),
		sb.Descriptor("remote", "remote/", kvstest.WithSouthbound("remote")),
		sb.Descriptor("piece", "piece/", kvstest.Derived()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, r, graph.New()}
}

// put adds a desired value with its derived values. With exists, the actual state
// has the value itself as well.
func (f *fixture) put(key string, item *model.Item, exists bool) *graph.Node {
	f.t.Helper()
	d, err := f.r.Lookup(key)
	if err != nil {
		f.t.Fatal(err)
	}
	v := f.r.Wanted(key, d, item)
	n := f.g.Ensure(key, d, nil)
	f.g.SetWant(n, v)
	if exists {
		_ = f.g.SetHave(n, v, nil, graph.Created)
	}
	for i := range v.Derived {
		child := f.g.Ensure(v.Derived[i].Key, v.Derived[i].Desc, n)
		f.g.SetWant(child, v.Derived[i].Value)
	}
	return n
}

func (f *fixture) reader() *status.Reader {
	return &status.Reader{Graph: f.g, Facts: facts{}}
}

// facts has one southbound that is not connected.
type facts struct{}

func (facts) SessionProblem(name string) string {
	if name == "remote" {
		return "remote: disconnected"
	}
	return ""
}

func (facts) Blocked(string) (why string, leaving bool) { return "", false }
func (facts) Unread(*graph.Node) string                 { return "" }
func (facts) Violations(string) []string                { return nil }
func (facts) SouthboundOnly(string) string              { return "" }
func (facts) Undescribed(string) bool                   { return false }
func (facts) TxnStart(seq uint64) time.Time             { return time.Unix(int64(seq), 0).UTC() }

func TestBase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("tap/1", &model.Item{Derived: []*model.Derived{
		{Key: "piece/b", Item: &model.Item{Deps: []string{"route/9"}}}, {Key: "piece/a", Item: &model.Item{Deps: []string{"tap/1"}}},
	}}, true)
	f.put("route/1", &model.Item{Deps: []string{"tap/1", "tap/2"}, AnyOf: []string{"bridge/"}}, false)
	f.put("route/2", &model.Item{Invalid: true}, false)
	f.put("route/3", &model.Item{}, true).Err = errors.New("refused")
	retried := f.put("route/4", &model.Item{}, false)
	retried.Err, retried.Retrying = errors.New("no reply"), true
	f.put("route/5", &model.Item{}, false).Missing = true
	f.put("remote/1", &model.Item{Deps: []string{"tap/2"}}, false)
	f.put("unhandled/1", &model.Item{}, false)
	for key, want := range map[string]string{
		"tap/1":       "CONFIGURED ; piece/a PENDING , piece/b PENDING route/9",
		"route/1":     "PENDING tap/2+any of bridge/",
		"route/2":     "INVALID invalid (invalid: item is invalid)",
		"route/3":     "FAILED (refused)",
		"route/4":     "RETRYING (no reply)",
		"route/5":     "MISSING",
		"remote/1":    "PENDING remote: disconnected",
		"unhandled/1": "UNIMPLEMENTED (no plugin of this agent handles it)",
		"tap/77":      "NONEXISTENT",
		"piece/b":     "PENDING route/9",
	} {
		s := f.reader().Base(key)
		got := line(s.Value)
		for i, d := range s.DerivedValues {
			got += []string{" ; ", " , "}[min(i, 1)] + d.Key + " " + line(d)
		}
		if strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

func line(s *api.ValueStatus) string {
	text := s.State.String() + " " + strings.Join(s.Details, "+")
	if s.Error != "" {
		text += " (" + s.Error + ")"
	}
	return strings.TrimSpace(text)
}

// The tree leads to the blocking values, and ends although values wait for each
// other.
func TestExplain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("tap/1", &model.Item{Deps: []string{"route/1"}}, false).LastTxn = 5
	f.put("route/1", &model.Item{Deps: []string{"tap/1", "route/2"}, AnyOf: []string{"bridge/"}}, false)
	f.put("route/2", &model.Item{}, false).Err = errors.New("refused")
	var text strings.Builder
	write(&text, f.reader().Explain("tap/1"), "")
	want := `tap/1 PENDING: waits for route/1; waits for itself: tap/1 -> route/1 -> tap/1; any of bridge/ is missing, route/2 is missing
  route/1 PENDING: waits for tap/1, route/2, any of bridge/; waits for itself: route/1 -> tap/1 -> route/1; any of bridge/ is missing, route/2 is missing
    tap/1 PENDING: waits for route/1; waits for itself: tap/1 -> route/1 -> tap/1; any of bridge/ is missing, route/2 is missing
    route/2 FAILED: refused
    bridge/* NONEXISTENT: nothing like this exists or is asked for
`
	if text.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &text, want)
	}
	if e := f.reader().Explain("tap/1"); !e.Since.Equal(time.Unix(5, 0)) {
		t.Errorf("since %v", e.Since)
	}
	if e := f.reader().Explain("tap/9"); e.Reason != "not configured" {
		t.Errorf("unknown key: %+v", e)
	}
}

func write(b *strings.Builder, e *api.Explanation, indent string) {
	fmt.Fprintf(b, "%s%s %s: %s\n", indent, e.Key, e.State, e.Reason)
	for _, c := range e.Children {
		write(b, c, indent+"  ")
	}
}

func TestNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("tap/1", &model.Item{Derived: []*model.Derived{{Key: "piece/a"}}}, true)
	n := f.put("route/1", &model.Item{Deps: []string{"tap/1", "tap/2"}, AnyOf: []string{"tap/"}}, false)
	got := f.reader().Node(n)
	if got.Descriptor != "route" || got.Label != "1" || got.State != pb.ValueState_PENDING || got.Exists || got.Origin != api.FromNB {
		t.Errorf("got %+v", got)
	}
	satisfied := map[string]bool{"tap/1": true, "tap/2": false, "any of tap/": true}
	for _, e := range got.Targets {
		if e.Relation != api.RelationDependsOn || satisfied[e.Label] != e.Satisfied {
			t.Errorf("edge %+v", e)
		}
	}
	if len(got.Targets) != 3 || !slices.Equal(got.Targets[2].Keys, []string{"tap/1"}) {
		t.Errorf("targets %+v", got.Targets)
	}
	piece := f.reader().Node(f.g.Node("piece/a"))
	base := f.reader().Node(f.g.Node("tap/1"))
	if piece.Base != "tap/1" || len(base.Targets) != 1 || base.Targets[0].Relation != api.RelationDerives || base.Targets[0].Satisfied {
		t.Errorf("piece %+v, base %+v", piece, base)
	}
}

// The status of a large cycle names its blockers but not its path. A chain of the
// same length is not a cycle.
func TestLargeCycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 50_000
	for i := range n {
		f.put(fmt.Sprintf("tap/%05d", i), &model.Item{Deps: []string{fmt.Sprintf("tap/%05d", (i+1)%n)}}, false)
		f.put(fmt.Sprintf("route/%05d", i), &model.Item{Deps: []string{fmt.Sprintf("route/%05d", i+1)}}, false)
	}
	f.put("tap/00007", &model.Item{Deps: []string{"tap/00008", "route/x", "route/y"}, AnyOf: []string{"a/", "b/"}}, false)
	r := f.reader()
	want := "PENDING tap/12346+waits for itself: tap/12345 is one of 50000 values that wait for each other; " +
		"any of a/ b/ is missing, route/x is missing, route/y is missing"
	if got := line(r.Base("tap/12345").Value); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i := range n { // all together visit each relation once
		if got := line(r.Base(fmt.Sprintf("route/%05d", i)).Value); got != fmt.Sprintf("PENDING route/%05d", i+1) {
			t.Fatal(got)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("tap/1", &model.Item{Derived: []*model.Derived{{Key: "piece/a", Item: &model.Item{Deps: []string{"route/9"}}}}}, true)
	f.put("tap/2", &model.Item{}, true)
	f.put("route/1", &model.Item{Deps: []string{"tap/9"}}, false)
	f.put("route/2", &model.Item{Invalid: true}, false)
	f.put("route/3", &model.Item{}, true).Err = errors.New("refused")
	for worst, want := range map[int]string{
		0: "", 2: "route/3 FAILED, route/2 INVALID",
		9: "route/3 FAILED, route/2 INVALID, piece/a PENDING, route/1 PENDING",
	} {
		sum := f.reader().Summary(api.ValueFilter{}, worst)
		var named []string
		for _, v := range sum.Worst {
			named = append(named, v.Key+" "+v.State.String())
		}
		if got := strings.Join(named, ", "); got != want || sum.Troubles != 4 {
			t.Errorf("at most %d: %s, want %s; %d troubles, want 4", worst, got, want, sum.Troubles)
		}
		if got, want := fmt.Sprint(sum.Counts), "map[PENDING:2 CONFIGURED:2 INVALID:1 FAILED:1]"; len(got) != len(want) || sum.Counts[pb.ValueState_CONFIGURED] != 2 || sum.Counts[pb.ValueState_PENDING] != 2 {
			t.Errorf("counts %s, want %s", got, want)
		}
		if got := sum.Items; got[pb.ValueState_PENDING] != 2 || got[pb.ValueState_CONFIGURED] != 1 || got[pb.ValueState_INVALID]+got[pb.ValueState_FAILED] != 2 || len(got) != 4 {
			t.Errorf("items %v", got)
		}
	}
}

// An item counts once, and a cause is named before what waits for it: within an item and between items.
func TestSummaryNamesCauses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("route/1", &model.Item{Deps: []string{"tap/1"}}, false)
	f.put("route/2", &model.Item{Deps: []string{"tap/2", "tap/8"}}, false)
	f.put("route/3", &model.Item{AnyOf: []string{"tap/1"}}, false)
	f.put("tap/1", &model.Item{Deps: []string{"tap/9"}}, false)
	f.put("tap/2", &model.Item{Derived: []*model.Derived{
		{Key: "piece/a", Item: &model.Item{AnyOf: []string{"piece/b"}}}, {Key: "piece/b", Item: &model.Item{Deps: []string{"tap/7"}}}, {Key: "piece/c", Item: &model.Item{Deps: []string{"piece/a"}}},
	}}, true)
	sum := f.reader().Summary(api.ValueFilter{}, 9)
	var named []string
	for _, v := range sum.Worst {
		named = append(named, v.Key)
	}
	if got, want := strings.Join(named, " "), "piece/b route/2 tap/1 route/1 route/3"; got != want || sum.Troubles != 5 {
		t.Errorf("%d troubles: %s, want %s", sum.Troubles, got, want)
	}
	f.put("tap/4", &model.Item{}, true)
	f.put("tap/5", &model.Item{Derived: []*model.Derived{{Key: "piece/tap/4", Item: &model.Item{Deps: []string{"tap/9"}}}}}, true)
	if got := f.reader().Summary(api.ValueFilter{Contains: "tap/4"}, 9).Items; got[pb.ValueState_CONFIGURED] != 1 || got[pb.ValueState_PENDING] != 1 || len(got) != 2 {
		t.Errorf("items of a filter that selects a derived value and not its item: %v", got)
	}
	var own []string
	for _, v := range f.reader().Base("tap/2").GetDerivedValues() {
		own = append(own, fmt.Sprint(v.GetWaitsFor()[0].GetOwn()))
	}
	if got := strings.Join(own, " "); got != "true false true" {
		t.Errorf("piece/a and piece/c wait for their own item: %s", got)
	}
}
