package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// What cannot be read, and may be gone, is created again after a restart. What it was before does
// not stay: it is deleted first.
func TestUnreadableAfterRestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		southbound     string
		before, during int64 // the value before the restart, and the one desired after it; 0: none
		want           []string
	}{
		{"vpp", 1, 1, []string{"create 1"}},
		{"vpp", 1, 2, []string{"delete 1", "create 2"}},
		{"vpp", 1, 0, []string{"delete 1"}},
		{"vpp", 0, 1, []string{"create 1"}},
		{"", 1, 1, nil},
		{"", 1, 2, []string{"update 1 to 2"}},
		{"", 1, 0, []string{"delete 1"}},
	} {
		for _, first := range []bool{false, true} { // whether the southbound is read before the northbound says what it wants
			t.Run(fmt.Sprintf("%q %d to %d, read first %t", tt.southbound, tt.before, tt.during, first), func(t *testing.T) {
				journal := kvstest.NewJournal()
				unreadableLife(t, journal, tt.southbound, tt.before, first)
				if got := unreadableLife(t, journal, tt.southbound, tt.during, first); !slices.Equal(got, tt.want) {
					t.Errorf("calls: %q, expected %q", got, tt.want)
				}
				var records []string
				if tt.during != 0 {
					records = []string{"a/1"}
				}
				if got := journal.Keys(); !slices.Equal(got, records) {
					t.Errorf("on record are %q, expected %q", got, records)
				}
				if got := unreadableLife(t, journal, tt.southbound, 0, first); len(got) > 1 {
					t.Errorf("calls of a removal: %q", got)
				}
			})
		}
	}
}

// An earlier run of the agent created a value that cannot be read. After a restart it is still desired, but
// the value that it depends on is not: it is deleted. It is created again when both are desired.
func TestUnreadableLosesProviderDuringRestart(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		t.Run(fmt.Sprintf("read first %t", first), func(t *testing.T) {
			t.Parallel()
			journal := kvstest.NewJournal()
			life := func(provider bool, want ...string) {
				t.Helper()
				sb := kvstest.NewMockSB()
				var calls []string
				d := api.Adapt(&api.Descriptor[*model.Item, any]{
					Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "vpp",
					Dependencies: func(string, *model.Item) []api.Dependency { return []api.Dependency{api.DependsOn("b/1")} },
					Create: func(string, *model.Item) (any, error) {
						calls = append(calls, "create")
						return nil, nil
					},
					Delete: func(string, *model.Item, any) error {
						calls = append(calls, "delete")
						return nil
					},
				})
				inBubbleWith(t, engine.Options{Journal: journal}, []*api.KVDescriptor{d, sb.Descriptor("b", "b/", kvstest.WithSouthbound("vpp"))},
					func(t *testing.T, c *engine.Engine) {
						c.SouthboundUp("vpp", 1)
						if first {
							if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
								t.Fatal(err)
							}
						}
						txn := c.StartNBTransaction().SetValue("a/1", &model.Item{Value: 1})
						if provider {
							txn.SetValue("b/1", &model.Item{Value: 1})
						}
						if _, err := txn.Commit(t.Context(), api.WithResync(api.FullResync, false)); err != nil {
							t.Fatal(err)
						}
					})
				if !slices.Equal(calls, want) {
					t.Errorf("provider %t: calls %q, expected %q", provider, calls, want)
				}
			}
			life(true, "create")
			life(true, "create")
			life(false, "delete")
			life(false)
			life(true, "create")
		})
	}
}

// unreadableLife runs a scheduler that a value is asked of, and returns the calls of its descriptor.
func unreadableLife(t *testing.T, journal engine.Journal, southbound string, value int64, first bool) (calls []string) {
	t.Helper()
	d := api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: southbound,
		Create: func(_ string, v *model.Item) (any, error) {
			calls = append(calls, fmt.Sprint("create ", v.GetValue()))
			return nil, nil
		},
		Update: func(_ string, old, v *model.Item, _ any) (any, error) {
			calls = append(calls, fmt.Sprint("update ", old.GetValue(), " to ", v.GetValue()))
			return nil, nil
		},
		Delete: func(_ string, v *model.Item, _ any) error {
			calls = append(calls, fmt.Sprint("delete ", v.GetValue()))
			return nil
		},
	})
	inBubbleWith(t, engine.Options{Journal: journal}, []*api.KVDescriptor{d}, func(t *testing.T, c *engine.Engine) {
		if southbound != "" {
			c.SouthboundUp(southbound, 1)
		}
		if first {
			if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
				t.Fatal(err)
			}
		}
		txn := c.StartNBTransaction()
		if value != 0 {
			txn.SetValue("a/1", &model.Item{Value: value})
		}
		if _, err := txn.Commit(t.Context(), api.WithResync(api.FullResync, false)); err != nil {
			t.Fatal(err)
		}
	})
	return calls
}
