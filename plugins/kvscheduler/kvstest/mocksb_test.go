package kvstest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func TestMockSBRefuses(t *testing.T) {
	t.Parallel()
	sb := NewMockSB()
	one := &model.Item{Value: 1}
	meta, err := sb.Create("a", one)
	if err != nil {
		t.Fatal(err)
	}
	_, again := sb.Create("a", one)
	_, missing := sb.Update("b", one, nil)
	_, stale := sb.Update("a", one, &Meta{99})
	for want, err := range map[string]error{
		"a exists already": again, "b does not exist": errors.Join(missing, sb.Delete("b", nil)), "is stale": stale,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	one.Value = 5 // the southbound has a copy
	if got := sb.String(); got != "a { value:1 }\n" {
		t.Errorf("content: %s", got)
	}
	if err := sb.Delete("a", meta); err != nil || sb.String() != "" {
		t.Errorf("delete: %v, %s", err, sb)
	}
}

func TestMockSBFaults(t *testing.T) {
	t.Parallel()
	sb := NewMockSB()
	sb.Inject(Fault{Op: pb.TxnOperation_CREATE, Key: "a", Times: 1})
	sb.Inject(Fault{Op: pb.TxnOperation_CREATE, Key: "b*", After: true})
	sb.Inject(Fault{Op: Retrieve, Key: "d", Times: 1, Err: errors.New("no answer")})
	if _, err := sb.Create("a", &model.Item{}); !errors.Is(err, ErrInjected) || sb.Get("a") != nil {
		t.Errorf("before the effect: %v, %s", err, sb)
	}
	if _, err := sb.Create("a", &model.Item{}); err != nil {
		t.Errorf("only once: %v", err)
	}
	if _, err := sb.Create("b1", &model.Item{}); !errors.Is(err, ErrInjected) || sb.Get("b1") == nil {
		t.Errorf("after the effect: %v, %s", err, sb)
	}
	if _, err := sb.Create("b2", &model.Item{}); !errors.Is(err, ErrInjected) {
		t.Errorf("always: %v", err)
	}
	sb.Heal()
	if _, err := sb.Create("b3", &model.Item{}); err != nil {
		t.Errorf("healed: %v", err)
	}
	sb.Inject(Fault{Op: Retrieve, Key: "d", Times: 1, Err: errors.New("no answer")})
	everything := func(string) bool { return true }
	if _, err := sb.Retrieve("d", everything); err == nil || err.Error() != "no answer" {
		t.Errorf("retrieve: %v", err)
	}
	if found, err := sb.Retrieve("d", everything); err != nil || len(found) != 4 {
		t.Errorf("retrieve: %v, %v", found, err)
	}
	want := []string{"create a", "create a", "create b1", "create b2", "create b3", "retrieve d", "retrieve d"}
	if got := sb.TakeCalls(); !slices.Equal(got, want) {
		t.Errorf("calls %q", got)
	}
}

func TestMockSBRequiresDependencies(t *testing.T) {
	t.Parallel()
	sb := NewMockSB()
	sb.RequireDependencies(func(key string) bool { return key == "elsewhere" })
	route := &model.Item{Deps: []string{"if/1", "elsewhere"}}
	if _, err := sb.Create("route/1", route); err == nil {
		t.Error("a route without its interface")
	}
	sb.Put("if/1", &model.Item{})
	if _, err := sb.Create("route/1", route); err != nil {
		t.Error(err)
	}
	if err := sb.Delete("if/1", nil); err == nil {
		t.Error("the interface was deleted under the route")
	}
}

// Relations are taken from the expected value, without the missing pieces.
func TestRetrieveCorrelates(t *testing.T) {
	t.Parallel()
	sb := NewMockSB()
	d := sb.Descriptor("bd", "bd/", WithOrigin(api.FromNB), WithMetadata())
	sb.Descriptor("piece", "piece/", Derived())
	sb.Put("bd/1", &model.Item{Value: 1})
	sb.Put("piece/1", &model.Item{})
	expected := &model.Item{Value: 1, Deps: []string{"x"}, Derived: []*model.Derived{{Key: "piece/1"}, {Key: "piece/2"}, {Key: "prop/1"}}}
	found, err := d.Retrieve([]api.KVWithMetadata{{Key: "bd/1", Value: expected}})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	want := &model.Item{Value: 1, Deps: []string{"x"}, Derived: []*model.Derived{{Key: "piece/1"}, {Key: "prop/1"}}}
	infratest.EqualMessages(t, "value", found[0].Value, want)
	if found[0].Origin != api.FromNB || found[0].Metadata.(*Meta).Handle != 1 {
		t.Errorf("got %+v", found[0])
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	c := NewClock()
	var ran []string
	add := func(d time.Duration, name string) func() bool {
		return c.AfterFunc(d, func() { ran = append(ran, name) })
	}
	add(2*time.Second, "b")
	add(time.Second, "a")
	stop := add(time.Second, "stopped")
	c.AfterFunc(3*time.Second, func() { add(time.Second, "d"); ran = append(ran, "c") })
	add(time.Hour, "late")
	if !stop() || stop() {
		t.Error("stop")
	}
	before := c.Now()
	if n := c.Advance(10*time.Second, nil); n != 4 || c.Pending() != 1 {
		t.Errorf("%d ran, %d pending", n, c.Pending())
	}
	if got := strings.Join(ran, " "); got != "a b c d" || c.Now().Sub(before) != 10*time.Second {
		t.Errorf("ran %s, now %v later", got, c.Now().Sub(before))
	}
}
