package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// exits ends the goroutine for one key.
func exits(key string) {
	if key == "tap/exits" {
		runtime.Goexit()
	}
}

// A callback that ends its goroutine has failed, beside others or not, watched or not,
// and everything else is done.
func TestGoexitOfOperations(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{0, time.Hour} {
		for _, concurrency := range []int{0, 4} {
			t.Run(fmt.Sprint(limit, concurrency), func(t *testing.T) {
				t.Parallel()
				var armed string
				sb := kvstest.NewMockSB()
				d := sb.Descriptor("tap", "tap/")
				d.Concurrency = concurrency
				create, update, remove := d.Create, d.Update, d.Delete
				spoil := func(callback, key string) {
					if callback == armed {
						exits(key)
					}
				}
				d.Create = func(key string, v proto.Message) (api.Metadata, error) { spoil("Create", key); return create(key, v) }
				d.Update = func(key string, a, b proto.Message, m api.Metadata) (api.Metadata, error) {
					spoil("Update", key)
					return update(key, a, b, m)
				}
				d.Delete = func(key string, v proto.Message, m api.Metadata) error {
					spoil("Delete", key)
					return remove(key, v, m)
				}
				var log infratest.Buffer
				s := engine.New(engine.Options{CallbackTimeout: limit, Log: logging.NewRegistry(logging.WithWriter(&log), logging.WithColours(false)).PluginLogger("s")})
				runWith(t, s, d)
				change := func(callback string, item *model.Item) error {
					armed = callback
					txn := s.StartNBTransaction()
					for _, key := range []string{"tap/0", "tap/exits", "tap/z"} {
						if item == nil {
							txn.SetValue(key, nil)
						} else {
							txn.SetValue(key, item)
						}
					}
					_, err := txn.Commit(t.Context())
					return err
				}
				for _, step := range []struct {
					callback string
					item     *model.Item
					others   int64 // their value
				}{{"Create", &model.Item{Value: 1}, 1}, {"", &model.Item{Value: 1}, 1}, {"Update", &model.Item{Value: 2}, 2}, {"", &model.Item{Value: 2}, 2}, {"Delete", nil, 0}} {
					err := change(step.callback, step.item)
					want := fmt.Sprintf("descriptor %q: %s called runtime.Goexit", "tap", step.callback)
					if (step.callback != "") != (err != nil && strings.Contains(err.Error(), want)) {
						t.Errorf("%s: error %v", step.callback, err)
					}
					v := s.GetValueStatus("tap/exits").GetValue()
					if step.callback != "" && (v.GetState().String() != "FAILED" || v.GetError() != want) {
						t.Errorf("%s: status %v", step.callback, v)
					}
					for _, key := range []string{"tap/0", "tap/z"} {
						if it, _ := sb.Get(key).(*model.Item); it.GetValue() != step.others {
							t.Errorf("%s: %s is %v", step.callback, key, it)
						}
					}
				}
				if n := strings.Count(log.String(), "callback panicked"); n != 3 || !strings.Contains(log.String(), "goexit_test.go") {
					t.Errorf("%d places in the log:\n%s", n, &log)
				}
			})
		}
	}
}

// Reading that ends its goroutine has failed.
func TestGoexitOfRetrieve(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{0, time.Hour} {
		t.Run(limit.String(), func(t *testing.T) {
			t.Parallel()
			sb := kvstest.NewMockSB()
			d := sb.Descriptor("tap", "tap/")
			d.Retrieve = func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) { exits("tap/exits"); return nil, nil }
			s := engine.New(engine.Options{CallbackTimeout: limit})
			runWith(t, s, d, sb.Descriptor("route", "route/"))
			_, err := s.StartNBTransaction().SetValue("tap/1", &model.Item{}).SetValue("route/1", &model.Item{}).
				Commit(t.Context(), api.WithResync(api.FullResync, true))
			if err != nil || sb.Get("route/1") == nil {
				t.Errorf("error %v, southbound:\n%s", err, sb)
			}
			if got := s.Explain("tap/1").Reason; !strings.Contains(got, `descriptor "tap": Retrieve called runtime.Goexit`) {
				t.Errorf("why: %q", got)
			}
		})
	}
}

// The stack of a panic is logged, once for each place in the code.
func TestStackOfPanicIsLogged(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("tap", "tap/")
	calls := 0
	d.Create = func(string, proto.Message) (api.Metadata, error) { calls++; return panicsDeepInside() }
	var log infratest.Buffer
	s := engine.New(engine.Options{Log: logging.NewRegistry(logging.WithWriter(&log), logging.WithColours(false)).PluginLogger("s")})
	runWith(t, s, d)
	for _, key := range []string{"tap/1", "tap/2", "tap/1"} {
		if _, err := s.StartNBTransaction().SetValue(key, &model.Item{}).Commit(t.Context()); err == nil {
			t.Errorf("%s: no error", key)
		}
	}
	text := log.String()
	if strings.Count(text, "callback panicked") != 1 || calls != 3 {
		t.Errorf("%d calls, log:\n%s", calls, text)
	}
	for _, part := range []string{"ERROR", `"descriptor": "tap"`, `"callback": "Create"`, `"key": "tap/1"`, "no such thing", "panicsDeepInside", `"stack": `} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in the log:\n%s", part, text)
		}
	}
}

func panicsDeepInside() (api.Metadata, error) { panic("no such thing") }
