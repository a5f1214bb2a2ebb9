package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// interrupted is a scheduler whose southbound goes down after an operation on a derived
// value.
type interrupted struct {
	*engine.Engine
	unconfirmed bool   // what the last Retrieve got
	refuse      string // a derived value that the southbound refuses; then it does not go down
}

// base has derived values that Retrieve does not report.
func (i *interrupted) base() *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/", Southbound: "s",
		Create: func(string, *model.Item) (any, error) { return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
		DerivedValues: func(_ string, it *model.Item) (all []api.KeyValuePair) {
			for _, d := range it.GetDerived() {
				all = append(all, api.KeyValuePair{Key: d.GetKey(), Value: &model.Item{}})
			}
			return all
		},
		Retrieve: func(correlate []api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
			i.unconfirmed = len(correlate) > 0 && correlate[0].DerivedUnconfirmed
			return []api.KV[*model.Item, any]{{Key: "a/1", Value: &model.Item{}, Origin: api.FromNB}}, nil
		},
	})
}

// part is a derived value; all others need d/1.
func (i *interrupted) part() *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "d", KeySelector: hasPrefix("d/"), Southbound: "s",
		Dependencies: func(key string, _ *model.Item) []api.Dependency {
			if key == "d/1" {
				return nil
			}
			return []api.Dependency{{Label: "first", Key: "d/1"}}
		},
		Create: func(key string, _ *model.Item) (any, error) {
			switch i.refuse {
			case "":
				i.SouthboundDown("s", errors.New("gone"))
			case key:
				return nil, errInjected
			}
			return nil, nil
		},
		Delete: func(string, *model.Item, any) error { return nil },
	})
}

func (i *interrupted) boot(t *testing.T, journal *kvstest.Journal) (stop func()) {
	i.Engine = engine.New(engine.Options{Journal: journal})
	if err := i.RegisterKVDescriptor(i.base(), i.part()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); i.Run(ctx) }()
	i.SouthboundUp("s", 1)
	return func() { cancel(); <-done }
}

// TestInterruptedDerivedValues: a southbound goes down between two operations on derived
// values, and the second one does not begin. A Retrieve of the base cannot show whether
// the first one succeeded, so the base is unconfirmed in the next session and for the next
// process.
func TestInterruptedDerivedValues(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"next session": false, "next process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i, journal := &interrupted{}, kvstest.NewJournal()
				stop := i.boot(t, journal)
				txn := i.StartNBTransaction()
				txn.SetValue("a/1", &model.Item{Derived: []*model.Derived{{Key: "d/1"}, {Key: "d/2"}}})
				_, _ = txn.Commit(t.Context()) // what failed is not of interest
				i.unconfirmed = false
				if restart {
					stop()
					stop = i.boot(t, journal)
				} else {
					i.SouthboundUp("s", 2)
				}
				i.TransactionBarrier()
				stop()
				if !i.unconfirmed {
					t.Error("the base is not unconfirmed")
				}
			})
		})
	}
}

// TestRefusedDerivedValue: the southbound refuses a derived value. The others stay on
// record, so the reading after the failure does not decide about them; a resync does.
func TestRefusedDerivedValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := &interrupted{refuse: "d/2"}
		stop := i.boot(t, kvstest.NewJournal())
		defer stop()
		txn := i.StartNBTransaction()
		txn.SetValue("a/1", &model.Item{Derived: []*model.Derived{{Key: "d/1"}, {Key: "d/2"}}})
		if _, err := txn.Commit(t.Context()); err == nil {
			t.Error("d/2 is not refused")
		}
		if i.unconfirmed || i.GetValueStatus("d/1").GetValue().GetState() != kvscheduler.ValueState_CONFIGURED {
			t.Errorf("the reading decides about d/1: %t; it is %v", i.unconfirmed, i.GetValueStatus("d/1"))
		}
		i.refuse = "nothing"
		if _, err := i.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
			t.Error(err)
		}
		if !i.unconfirmed {
			t.Error("the derived values are not unconfirmed in a resync")
		}
	})
}
