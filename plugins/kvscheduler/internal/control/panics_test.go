package control_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/control"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// A pure function that panics is told with the descriptor and the line; what can be
// done about the value without it is done, and everything else goes on.
func TestPanicsOfPureFunctions(t *testing.T) {
	t.Parallel()
	testPureFunctions(t, boomAt, " panicked at panics_test.go:", "no such tap")
}

// One that ends the goroutine of its caller is no worse.
func TestGoexitOfPureFunctions(t *testing.T) {
	t.Parallel()
	testPureFunctions(t, func(key string) {
		if key == "tap/boom" {
			runtime.Goexit()
		}
	}, " called runtime.Goexit", "")
}

// testPureFunctions lets every pure function of a descriptor fail for tap/boom.
func testPureFunctions(t *testing.T, boomAt func(key string), how, why string) {
	t.Helper()
	for name, c := range map[string]struct {
		spoil func(d *api.KVDescriptor)
		fails bool // the value has no state without the function
	}{
		"KeySelector": {spoil: func(d *api.KVDescriptor) {
			selects := d.KeySelector
			d.KeySelector = func(key string) bool { boomAt(key); return selects(key) }
		}, fails: true},
		"Validate": {spoil: func(d *api.KVDescriptor) {
			d.Validate = func(key string, _ proto.Message) error { boomAt(key); return nil }
		}, fails: true},
		"Dependencies": {spoil: func(d *api.KVDescriptor) {
			d.Dependencies = func(key string, _ proto.Message) []api.Dependency { boomAt(key); return nil }
		}, fails: true},
		"DerivedValues": {spoil: func(d *api.KVDescriptor) {
			d.DerivedValues = func(key string, _ proto.Message) []api.KeyValuePair { boomAt(key); return nil }
		}, fails: true},
		"KeyLabel": {spoil: func(d *api.KVDescriptor) { d.KeyLabel = func(key string) string { boomAt(key); return key } }},
		"ValueComparator": {spoil: func(d *api.KVDescriptor) {
			d.ValueComparator = func(key string, _, _ proto.Message) bool { boomAt(key); return false }
		}},
		"UpdateWithRecreate": {spoil: func(d *api.KVDescriptor) {
			d.UpdateWithRecreate = func(key string, _, _ proto.Message, _ api.Metadata) bool { boomAt(key); return false }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sb := kvstest.NewMockSB()
			d := sb.Descriptor("tap", "tap/", kvstest.WithMetadata())
			c.spoil(d)
			var told []control.Breach
			s := control.New(control.Options{Breaches: func(b []control.Breach) { told = b }})
			runWith(t, s, d, sb.Descriptor("route", "route/"))
			change := func(value int64) error {
				_, err := s.StartNBTransaction().SetValue("tap/boom", &model.Item{Value: value}).
					SetValue("tap/1", &model.Item{Value: value}).SetValue("route/1", &model.Item{Value: value}).Commit(t.Context())
				return err
			}
			err := change(1)
			if err == nil {
				err = change(2)
			}
			status := s.GetValueStatus("tap/boom").GetValue()
			text := status.GetError() + strings.Join(status.GetDetails(), " ")
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), name) || status.GetState().String() != "INVALID" {
					t.Errorf("error %v, status %v", err, status)
				}
			} else if err != nil || status.GetState().String() != "CONFIGURED" || len(told) == 0 || told[0].Descriptor != "tap" {
				t.Errorf("error %v, status %v, told %v", err, status, told)
			}
			if !strings.Contains(text, name+how) || !strings.Contains(text, why) {
				t.Errorf("%v, %v: expected that it names the function and the line", status, err)
			}
			if got, want := sb.Get("route/1") != nil && sb.Get("tap/1") != nil, true; got != want {
				t.Errorf("the rest was not made:\n%s", sb)
			}
		})
	}
}

// Whether a failure can be retried is asked in the midst of an execution.
func TestGoexitOfIsRetriableFailure(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("tap", "tap/")
	d.IsRetriableFailure = func(error) bool { runtime.Goexit(); return false }
	d.Create = func(string, proto.Message) (api.Metadata, error) { return nil, errors.New("busy") }
	var told []control.Breach
	s := control.New(control.Options{Breaches: func(b []control.Breach) { told = b }})
	runWith(t, s, d, sb.Descriptor("route", "route/"))
	_, err := s.StartNBTransaction().SetValue("tap/1", &model.Item{}).SetValue("route/1", &model.Item{}).Commit(t.Context(), api.WithRetryDefault())
	if err == nil || !strings.Contains(err.Error(), "busy") || sb.Get("route/1") == nil {
		t.Errorf("error %v, southbound:\n%s", err, sb)
	}
	if len(told) != 1 || !strings.Contains(told[0].Problem, "IsRetriableFailure called runtime.Goexit") {
		t.Errorf("told %v", told)
	}
}

// A selector of a dependency has no goroutine of its own: the transaction is refused,
// and all others go on.
func TestGoexitOfSelector(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("route", "route/")
	d.Dependencies = func(string, proto.Message) []api.Dependency {
		return []api.Dependency{{Label: "any", AnyOf: api.AnyOfDependency{
			KeyPrefixes: []string{"tap/"}, KeySelector: func(string) bool { runtime.Goexit(); return true },
		}}}
	}
	s := control.New(control.Options{})
	runWith(t, s, d, sb.Descriptor("tap", "tap/"))
	set(t, s, "tap/1", &model.Item{})
	const problem = "a function of a descriptor called runtime.Goexit at panics_test.go:"
	txn := s.StartNBTransaction().SetValue("route/1", &model.Item{}).SetValue("tap/2", &model.Item{})
	if _, err := txn.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), problem) {
		t.Errorf("plan: error %v", err)
	}
	if _, err := txn.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), problem) {
		t.Errorf("error %v", err)
	}
	set(t, s, "tap/3", &model.Item{})
	if sb.Get("tap/2") != nil || sb.Get("tap/3") == nil {
		t.Errorf("southbound:\n%s", sb)
	}
}

func boomAt(key string) {
	if key == "tap/boom" {
		panic("no such tap")
	}
}

// What comes from the southbound may make a descriptor panic as well.
func TestPanicOverNotification(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("tap", "tap/")
	d.DerivedValues = func(key string, _ proto.Message) []api.KeyValuePair { boomAt(key); return nil }
	s := control.New(control.Options{})
	runWith(t, s, d)
	if err := s.PushSBNotification(api.KVWithMetadata{Key: "tap/boom", Value: &model.Item{}}, api.KVWithMetadata{Key: "tap/1", Value: &model.Item{}}); err != nil {
		t.Fatal(err)
	}
	s.TransactionBarrier()
	for _, key := range []string{"tap/boom", "tap/1"} {
		if got := s.GetValueStatus(key).GetValue().GetState().String(); got != "OBTAINED" {
			t.Errorf("%s is %s", key, got)
		}
	}
	if n := s.CountBreaches()["tap"]; n != 1 {
		t.Errorf("%d breaches counted", n)
	}
}

// A selector that panics for what exists fails the values that wait for its answer,
// until there is one: another value that it takes, or none that it panics for.
func TestSelectorPanics(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("route", "route/")
	fickle := func(key string) bool { boomAt(key); return key == "tap/good" }
	d.Dependencies = func(key string, v proto.Message) []api.Dependency {
		if v.(*model.Item).GetValue() == 7 {
			return nil
		}
		return []api.Dependency{{Label: "good tap", AnyOf: api.AnyOfDependency{KeyPrefixes: []string{"tap/"}, KeySelector: fickle}}}
	}
	s := control.New(control.Options{Record: true})
	runWith(t, s, d, sb.Descriptor("tap", "tap/"))
	const problem = `descriptor "route": dependency "good tap": KeySelector of tap/boom panicked at panics_test.go:`
	step := func(what, want string, fails bool, kvs ...any) {
		t.Helper()
		txn := s.StartNBTransaction()
		for i := 0; i < len(kvs); i += 2 {
			msg, _ := kvs[i+1].(proto.Message)
			txn.SetValue(kvs[i].(string), msg)
		}
		_, err := txn.Commit(t.Context())
		if fails != (err != nil && strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: error %v", what, err)
		}
		v := s.GetValueStatus("route/1").GetValue()
		why := s.Explain("route/1").Reason
		if v.GetState().String() != want {
			t.Errorf("%s: %v", what, v)
		}
		if told := strings.HasPrefix(v.GetError(), problem) && strings.HasPrefix(why, problem) && strings.HasSuffix(why, "no such tap"); told != (want == "FAILED") {
			t.Errorf("%s: status %v, why %q", what, v, why)
		}
		history := s.GetTransactionHistory(time.Time{}, time.Time{})
		executed := history[len(history)-1].Executed
		if fails != slices.ContainsFunc(executed, func(op api.RecordedTxnOp) bool {
			return op.Key == "route/1" && op.NOOP && op.NewState.String() == "FAILED" && strings.HasPrefix(op.NewErrMsg, problem)
		}) {
			t.Errorf("%s: recorded %+v", what, executed)
		}
	}
	item := &model.Item{}
	step("alone", "PENDING", false, "route/1", item)
	step("the key comes", "FAILED", true, "tap/boom", item)
	step("nothing to do with it", "FAILED", false, "tap/1", item)
	step("one that is taken comes", "CONFIGURED", false, "tap/good", item)
	step("and goes", "FAILED", true, "tap/good", nil)
	step("asked for with another value", "CONFIGURED", false, "route/1", &model.Item{Value: 7})
	step("and as before", "FAILED", true, "route/1", item)
	step("the key goes", "PENDING", false, "tap/boom", nil)
	step("both at once", "FAILED", true, "route/1", &model.Item{Value: 2}, "tap/boom", item)
	step("given up", "NONEXISTENT", false, "route/1", nil)
	_, err := s.StartNBTransaction().SetValue("route/1", item).SetValue("tap/2", item).Commit(t.Context(), api.WithRevert())
	if state := s.GetValueStatus("route/1").GetValue().GetState().String(); err == nil || state != "NONEXISTENT" || sb.Get("tap/2") != nil {
		t.Errorf("reverted: error %v, state %s, southbound:\n%s", err, state, sb)
	}
}

// A dependency that names nothing is told, and one whose selector panics fails its
// value.
func TestDependenciesThatCannotBeMet(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("tap", "tap/")
	d.Dependencies = func(key string, _ proto.Message) []api.Dependency {
		switch key {
		case "tap/panics":
			return []api.Dependency{{Label: "any", AnyOf: api.AnyOfDependency{KeyPrefixes: []string{"tap/"}, KeySelector: func(string) bool { panic("no") }}}}
		case "tap/empty":
			return []api.Dependency{{Label: "nothing"}}
		}
		return nil
	}
	s := control.New(control.Options{})
	runWith(t, s, d)
	if _, err := s.StartNBTransaction().SetValue("tap/panics", &model.Item{}).SetValue("tap/empty", &model.Item{}).
		SetValue("tap/1", &model.Item{}).Commit(t.Context()); err == nil || !strings.Contains(err.Error(), "KeySelector of tap/1 panicked") {
		t.Errorf("error %v", err)
	}
	for key, want := range map[string]string{"tap/panics": "FAILED", "tap/empty": "PENDING", "tap/1": "CONFIGURED"} {
		if got := s.GetValueStatus(key).GetValue().GetState().String(); got != want {
			t.Errorf("%s is %s, expected %s", key, got, want)
		}
	}
	if got := s.GetValueStatus("tap/empty").GetValue().GetDetails(); !strings.Contains(strings.Join(got, "; "), `Dependencies has "nothing" without Key and AnyOf`) {
		t.Errorf("details %q", got)
	}
}

// A key that two descriptors select belongs to neither, and its status says so. No
// prefix gave that away when they were registered.
func TestTwoDescriptorsForOneKey(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	a, b := sb.Descriptor("a", "x/"), sb.Descriptor("b", "")
	a.NBKeyPrefix = ""
	b.KeySelector = func(key string) bool { return strings.HasSuffix(key, "/both") }
	s := control.New(control.Options{})
	runWith(t, s, a, b)
	const problem = `key "x/both" is claimed by two descriptors: "a" and "b"`
	_, err := s.StartNBTransaction().SetValue("x/both", &model.Item{}).SetValue("x/1", &model.Item{}).Commit(t.Context())
	if err == nil || !strings.Contains(err.Error(), problem) {
		t.Errorf("got %v", err)
	}
	if v := s.GetValueStatus("x/both").GetValue(); v.GetState().String() != "INVALID" || v.GetError() != problem {
		t.Errorf("status %v", v)
	}
	if sb.Get("x/1") == nil || sb.Get("x/both") != nil {
		t.Errorf("southbound:\n%s", sb)
	}
}
