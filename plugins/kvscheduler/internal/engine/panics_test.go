package engine_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// A pure function that panics is reported with the descriptor and the source line. The
// value is handled without its result, and other values are unaffected.
func TestPanicsOfPureFunctions(t *testing.T) {
	t.Parallel()
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
			var told []contract.Violation
			s := engine.New(engine.Options{Conditions: &conditions{violations: func(b []contract.Violation) { told = b }}})
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
			if !strings.Contains(text, name+" panicked at panics_test.go:") || !strings.Contains(text, "no such tap") {
				t.Errorf("%v, %v: expected that it names the function and the line", status, err)
			}
			if got, want := sb.Get("route/1") != nil && sb.Get("tap/1") != nil, true; got != want {
				t.Errorf("the rest was not made:\n%s", sb)
			}
		})
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
	s := engine.New(engine.Options{})
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
	if n := s.CountViolations()["tap"]; n != 1 {
		t.Errorf("%d breaches counted", n)
	}
}

// A dependency whose selector panics is not met by that key, and the panic is a contract
// violation of the value.
func TestSelectorPanics(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("route", "route/")
	fickle := func(key string) bool { boomAt(key); return key == "tap/good" }
	d.Dependencies = func(string, proto.Message) []api.Dependency {
		return []api.Dependency{{Label: "good tap", AnyOf: api.AnyOfDependency{KeyPrefixes: []string{"tap/"}, KeySelector: fickle}}}
	}
	s := engine.New(engine.Options{})
	runWith(t, s, d, sb.Descriptor("tap", "tap/"))
	check := func(want string, problems int) {
		t.Helper()
		v := s.GetValueStatus("route/1").GetValue()
		details := strings.Join(v.GetDetails(), "; ")
		if v.GetState().String() != want || strings.Count(details, "KeySelector of tap/boom panicked at panics_test.go:") != problems {
			t.Errorf("status %v, expected %s and %d problems", v, want, problems)
		}
		if got := s.CountViolations()["route"] > 0; got != (problems > 0) {
			t.Errorf("contract violations counted: %v", got)
		}
	}
	set(t, s, "route/1", &model.Item{})
	check("PENDING", 0)
	set(t, s, "tap/boom", &model.Item{})
	check("PENDING", 1)
	set(t, s, "tap/good", &model.Item{})
	check("CONFIGURED", 1)
	if _, err := s.StartNBTransaction().SetValue("tap/good", nil).Commit(t.Context()); err != nil {
		t.Error(err)
	}
	check("PENDING", 1)
}

// A dependency that names nothing is a contract violation.
func TestDependencyThatNamesNothing(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("tap", "tap/")
	d.Dependencies = func(key string, _ proto.Message) []api.Dependency {
		if key == "tap/empty" {
			return []api.Dependency{{Label: "nothing"}}
		}
		return nil
	}
	s := engine.New(engine.Options{})
	runWith(t, s, d)
	set(t, s, "tap/empty", &model.Item{})
	set(t, s, "tap/1", &model.Item{})
	for key, want := range map[string]string{"tap/empty": "PENDING", "tap/1": "CONFIGURED"} {
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
	s := engine.New(engine.Options{})
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
