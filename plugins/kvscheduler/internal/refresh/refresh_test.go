package refresh_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// fixture is a southbound with a graph of its recorded state.
type fixture struct {
	t        *testing.T
	sb       *kvstest.MockSB
	r        *registry.Registry
	g        *graph.Graph
	warnings []string
}

func newFixture(t *testing.T, more ...*api.KVDescriptor) *fixture {
	t.Helper()
	f := &fixture{t: t, sb: kvstest.NewMockSB(), g: graph.New()}
	f.register(append([]*api.KVDescriptor{
		f.sb.Descriptor("tap", "tap/", kvstest.WithMetadata()),
		f.sb.Descriptor("route", "route/", kvstest.WithOrigin(api.FromNB)),
		f.sb.Descriptor("remote", "remote/", kvstest.WithSouthbound("remote")),
		f.sb.Descriptor("piece", "piece/", kvstest.Derived()),
	}, more...))
	return f
}

func (f *fixture) register(descriptors []*api.KVDescriptor) {
	f.t.Helper()
	r, err := registry.New(nil).With(descriptors)
	if err != nil {
		f.t.Fatal(err)
	}
	f.r = r
}

// believe makes a value wanted and believed to exist, with its derived values.
func (f *fixture) believe(key string, item *model.Item) {
	f.t.Helper()
	d, err := f.r.Lookup(key)
	if err != nil {
		f.t.Fatal(err)
	}
	v := f.r.Wanted(key, d, item)
	n := f.g.Ensure(key, d, nil)
	f.g.SetWant(n, v)
	_ = f.g.SetHave(n, v, &kvstest.Meta{Handle: 99}, graph.Created)
	for i := range v.Derived {
		dv := &v.Derived[i]
		child := f.g.Ensure(dv.Key, dv.Desc, n)
		f.g.SetWant(child, dv.Value)
		_ = f.g.SetHave(child, dv.Value, nil, graph.Created)
	}
}

func (f *fixture) refresher() *refresh.Refresher {
	return &refresh.Refresher{
		Graph: f.g, Registry: f.r, Lock: &sync.Mutex{}, Closed: map[string]bool{"remote": true},
		Unconfirmed: refresh.NewUnconfirmed(), Reads: refresh.NewReads(time.Now), Calls: lateCalls{}, Observer: f,
	}
}

// Reading, Retrieved, Changed and Problem implement refresh.Observer.
func (f *fixture) Reading(string)                         {}
func (f *fixture) Retrieved(string, []api.KVWithMetadata) {}
func (f *fixture) Changed(string)                         {}
func (f *fixture) Problem(descriptor, problem string, _ bool) {
	f.warnings = append(f.warnings, descriptor+": "+problem)
}

// state is the graph as text: key, state, value that exists.
func (f *fixture) state() string {
	var b strings.Builder
	for n := range f.g.Nodes {
		fmt.Fprintf(&b, "%s %s", n.Key, plan.State(n))
		if n.Have != nil {
			fmt.Fprintf(&b, " %d", n.Have.Msg.(*model.Item).GetValue())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (f *fixture) expect(want string) {
	f.t.Helper()
	if got := f.state(); got != want {
		f.t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func item(v int64) *model.Item { return &model.Item{Value: v} }

func TestAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.believe("tap/same", item(1))
	f.believe("tap/changed", item(1))
	f.believe("tap/lost", &model.Item{Value: 1, Derived: []*model.Derived{{Key: "piece/lost"}}})
	f.believe("remote/1", item(1))
	meta := f.sb.Put("tap/same", item(1))
	f.sb.Put("tap/changed", item(2))
	f.sb.Put("tap/foreign", item(3))
	f.sb.Put("tap/requested", item(4))
	f.sb.Put("route/left-over", item(5))
	f.refresher().All([]api.RecordedKVPair{{Key: "tap/requested", Value: item(4), Origin: api.FromNB}})
	f.expect(`remote/1 CONFIGURED 1
route/left-over OBTAINED 5
tap/changed CONFIGURED 2
tap/foreign OBTAINED 3
tap/lost MISSING
tap/requested DISCOVERED 4
tap/same CONFIGURED 1
`)
	if got := f.g.Node("tap/same").Meta.(*kvstest.Meta); got.Handle != meta.Handle {
		t.Errorf("metadata %+v, want %+v", got, meta)
	}
	if n := f.g.Node("tap/same"); n.Have != n.Want {
		t.Error("an unchanged value is described again")
	}
	if len(f.warnings) > 0 {
		t.Errorf("warnings %q", f.warnings)
	}
}

// What is found under another key than before keeps its derived values, whichever key is first.
func TestFoundUnderAnotherKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"tap/1", "tap/3"} {
		f := newFixture(t)
		of := &model.Item{Value: 1, Derived: []*model.Derived{{Key: "piece/1"}}}
		f.believe("tap/2", of)
		f.g.SetWant(f.g.Node("tap/2"), nil)
		f.sb.Put(key, of)
		f.sb.Put("piece/1", item(0))
		f.refresher().All([]api.RecordedKVPair{{Key: key, Value: of, Origin: api.FromNB}})
		f.expect("piece/1 CONFIGURED 0\n" + key + " DISCOVERED 1\n")
		if base := f.g.Node("piece/1").Base; base == nil || base.Key != key {
			t.Errorf("piece/1 is derived from %v", base)
		}
	}
}

// lateCalls are the keys of operations that timed out, a refresh.Calls.
type lateCalls map[string]bool

func (lateCalls) Read(_ *registry.Descriptor, _ string, f func(context.Context) error) error {
	return f(context.Background())
}
func (c lateCalls) Holds(key string) bool { return c[key] }

// A derived value that is no longer desired, and whose creation has not
// returned: that its base has no trace of it does not mean that it is over.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		f := newFixture(t)
		f.believe("tap/1", &model.Item{Value: 1, Derived: []*model.Derived{{Key: "piece/1"}}})
		f.sb.Put("tap/1", item(1))
		child := f.g.Node("piece/1")
		f.g.SetWant(child, nil)
		f.g.Remove(child, graph.Deleted)
		child.Err = errors.New("did not return")
		r := f.refresher()
		if late {
			r.Calls = lateCalls{"piece/1": true}
		}
		r.All(nil)
		if left := f.g.Node("piece/1") != nil; left != late {
			t.Errorf("late %t: still there %t", late, left)
		}
	}
}

// What cannot be read is assumed to be unchanged.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.believe("tap/1", item(1))
	f.believe("route/1", item(1))
	f.sb.Inject(kvstest.Fault{Op: kvstest.Retrieve, Key: "tap", Err: errors.New("no answer")})
	f.sb.Inject(kvstest.Fault{Op: kvstest.Retrieve, Key: "route", Panic: true})
	f.refresher().All(nil)
	f.refresher().Keys([]string{"tap/1", "route/1"})
	f.expect("route/1 CONFIGURED 1\ntap/1 CONFIGURED 1\n")
	if len(f.warnings) != 4 || !slices.ContainsFunc(f.warnings, func(w string) bool { return strings.Contains(w, `descriptor "route" panicked`) }) {
		t.Errorf("warnings %q", f.warnings)
	}
}

func TestWrongResultsAreLeftOut(t *testing.T) {
	t.Parallel()
	bad := kvstest.NewMockSB().Descriptor("bad", "bad/")
	bad.Retrieve = func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) {
		return []api.KVWithMetadata{
			{Key: "bad/1", Value: item(1), Origin: api.FromNB}, {Key: "bad/1", Value: item(2), Origin: api.FromNB},
			{Key: "bad/2"}, {Key: "tap/1", Value: item(3)}, {Key: "bad/3", Value: item(4), Origin: api.FromNB},
		}, nil
	}
	f := newFixture(t, bad)
	f.refresher().All(nil)
	f.expect("bad/1 OBTAINED 1\nbad/3 OBTAINED 4\n")
	for i, want := range []string{`key "bad/1" twice`, `key "bad/2" without a value`, `key "tap/1", which it does not select`} {
		if len(f.warnings) != 3 || !strings.Contains(f.warnings[i], want) {
			t.Errorf("want %s in %q", want, f.warnings)
		}
	}
}

// Single values are read after failures; a piece through its base.
func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.believe("tap/1", &model.Item{Value: 1, Derived: []*model.Derived{{Key: "piece/a", Item: item(1)}, {Key: "piece/b", Item: item(1)}}})
	f.believe("tap/2", item(1))
	f.believe("tap/3", item(1))
	f.sb.Put("tap/1", item(1))
	f.sb.Put("piece/b", item(1))
	f.sb.Put("tap/2", item(7))
	f.refresher().Keys([]string{"piece/a", "piece/b", "tap/2", "tap/unknown", "remote/1"})
	f.expect("piece/a PENDING\npiece/b CONFIGURED 1\ntap/1 CONFIGURED 1\ntap/2 CONFIGURED 7\ntap/3 CONFIGURED 1\n")
	f.refresher().Keys([]string{"tap/3"})
	if f.g.Node("tap/3").Have != nil {
		t.Error("tap/3 is believed to exist")
	}
	want := []string{"retrieve tap", "retrieve tap"}
	if calls := f.sb.TakeCalls(); !slices.Equal(calls, want) {
		t.Errorf("calls %q, want one Retrieve each: %q", calls, want)
	}
}

// RetrieveValue saves the reading of everything.
func TestKeysWithRetrieveValue(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("big", "big/")
	d.RetrieveValue = func(key string, last proto.Message, _ api.Metadata) (proto.Message, api.Metadata, bool, error) {
		switch v := sb.Get(key); {
		case key == "big/silent":
			return nil, nil, false, errors.New("no answer")
		case v == nil:
			return nil, nil, false, nil
		default:
			return v, nil, true, nil
		}
	}
	f := newFixture(t, d)
	for _, key := range []string{"big/gone", "big/silent", "big/there"} {
		f.believe(key, item(1))
	}
	sb.Put("big/there", item(2))
	f.refresher().Keys([]string{"big/gone", "big/silent", "big/there"})
	f.expect("big/gone PENDING\nbig/silent CONFIGURED 1\nbig/there CONFIGURED 2\n")
	if calls := sb.TakeCalls(); len(calls) > 0 || len(f.warnings) != 1 {
		t.Errorf("calls %q, warnings %q", calls, f.warnings)
	}
}

// Where many of a descriptor failed, all of it is read once, unless it has far more.
func TestManyKeysAreReadTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ failed, others, single, all int }{
		{32, 0, 32, 0}, {33, 0, 0, 1}, {33, 297, 0, 1}, {33, 298, 33, 0},
	} {
		sb := kvstest.NewMockSB()
		d, single, all := sb.Descriptor("big", "big/"), 0, 0
		d.RetrieveValue = func(string, proto.Message, api.Metadata) (proto.Message, api.Metadata, bool, error) {
			single++
			return nil, nil, false, nil
		}
		retrieve := d.Retrieve
		d.Retrieve = func(known []api.KVWithMetadata) ([]api.KVWithMetadata, error) {
			all++
			return retrieve(known)
		}
		f := newFixture(t, d)
		var keys []string
		for i := range c.failed {
			keys = append(keys, fmt.Sprintf("big/failed%d", i))
			f.believe(keys[i], item(1))
		}
		for i := range c.others {
			f.believe(fmt.Sprintf("big/other%d", i), item(1))
		}
		f.refresher().Keys(keys)
		if single != c.single || all != c.all {
			t.Errorf("%d failed beside %d: %d were read alone, all of them %d times; expected %d and %d", c.failed, c.others, single, all, c.single, c.all)
		}
		for _, key := range keys {
			if n := f.g.Node(key); n != nil && n.Have != nil {
				t.Fatalf("%s is believed to exist", key)
			}
		}
		if c.others > 0 && f.g.Node("big/other0").Have == nil {
			t.Error("what did not fail was looked at")
		}
	}
}

// A southbound that is gone is not asked for thousands of values one by one, and
// there is one warning for all; what cannot be read for other reasons is counted by
// descriptor.
func TestKeysOfManyFailures(t *testing.T) {
	t.Parallel()
	asked := 0
	describe := func(name string, err error) *api.KVDescriptor {
		d := kvstest.NewMockSB().Descriptor(name, name+"/", kvstest.WithSouthbound("s"))
		d.RetrieveValue = func(string, proto.Message, api.Metadata) (proto.Message, api.Metadata, bool, error) {
			asked++
			return nil, nil, false, err
		}
		return d
	}
	f := newFixture(t, describe("lost", fmt.Errorf("lookup: %w", api.Unreached(errors.New("connection lost")))),
		describe("later", nil), describe("broken", errors.New("no answer")))
	var keys []string
	for _, key := range []string{"broken/1", "broken/2", "broken/3", "broken/4", "later/0", "lost/1", "lost/2"} {
		f.believe(key, item(1))
		keys = append(keys, key)
	}
	f.believe("tap/1", item(1))
	f.sb.Put("tap/1", item(2))
	f.refresher().Keys(append(keys, "tap/1"))
	want := []string{
		"broken: retrieve broken/1: no answer; 4 values are assumed to be unchanged",
		"lost: retrieve lost/1: lookup: connection lost; 2 values are assumed to be unchanged",
	}
	if !slices.Equal(f.warnings, want) {
		t.Errorf("warnings %q, expected %q", f.warnings, want)
	}
	if asked != 6 { // not for the second after the southbound was lost
		t.Errorf("asked for %d values", asked)
	}
	if got := f.g.Node("tap/1").Have.Msg.(*model.Item).GetValue(); got != 2 {
		t.Errorf("tap/1 is %d", got)
	}
	f.warnings, asked = nil, 0
	f.refresher().Keys([]string{"lost/1", "lost/2", "piece/none"})
	if asked != 1 || len(f.warnings) != 1 {
		t.Errorf("asked for %d values, warnings %q", asked, f.warnings)
	}
}

func TestDescriptorReadsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.believe("tap/1", item(1))
	f.sb.Put("tap/1", item(2))
	before := f.state()
	found, err := f.refresher().Descriptor(f.r.ByName("tap"))
	if err != nil || len(found) != 1 || found[0].Value.(*model.Item).GetValue() != 2 {
		t.Errorf("found %v, %v", found, err)
	}
	f.expect(before)
	for name, want := range map[string]string{"piece": "has no Retrieve", "remote": "is disconnected"} {
		if _, err := f.refresher().Descriptor(f.r.ByName(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
