package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// load is a typical network of about n values. One in ten is an interface with four
// routes. Every second value binds an interface to a bridge domain; each bridge domain
// derives 100 of these.
type load struct {
	keys   []string
	values []*model.Item
	broken string // key whose operations fail

	// retrieving is how long the Retrieve callbacks took while a key is broken.
	retrieving time.Duration
}

func newLoad(n int) *load {
	l := &load{}
	add := func(key string, it *model.Item) {
		l.keys, l.values = append(l.keys, key), append(l.values, it)
	}
	iface := func(i int) string { return fmt.Sprintf("if%06d", i) }
	interfaces := n / 10
	for i := range n / 200 {
		it := &model.Item{}
		for j := range 100 {
			name := iface((i*100 + j) % interfaces)
			it.Derived = append(it.Derived, &model.Derived{
				Key: fmt.Sprintf("bd/%04d/interface/%s", i, name), Item: &model.Item{Deps: []string{"config/interface/" + name}},
			})
		}
		add(fmt.Sprintf("config/bd/%04d", i), it)
	}
	for i := range interfaces {
		add("config/interface/"+iface(i), &model.Item{Value: 1})
	}
	for i := range interfaces {
		for j := range 4 {
			add(fmt.Sprintf("config/route/%s/10.%d.0.0", iface(i), j), &model.Item{Deps: []string{"config/interface/" + iface(i)}})
		}
	}
	return l
}

func (l *load) descriptors() []*api.KVDescriptor {
	var out []*api.KVDescriptor
	for _, prefix := range []string{"config/interface/", "config/bd/", "config/route/", "bd/"} {
		d := &api.Descriptor[*model.Item, int]{
			Name: strings.Trim(strings.ReplaceAll(prefix, "/", "-"), "-"), KeySelector: hasPrefix(prefix),
			ValueComparator: nil, Dependencies: itemDeps, DerivedValues: itemDerived,
			Create: func(key string, it *model.Item) (int, error) {
				if key == l.broken {
					return 0, errInjected
				}
				return 0, nil
			},
			Update: func(key string, _, it *model.Item, _ int) (int, error) {
				if key == l.broken {
					return 0, errInjected
				}
				return 0, nil
			},
			Delete: func(key string, _ *model.Item, _ int) error { return nil },
		}
		if strings.HasPrefix(prefix, "config/") {
			d.NBKeyPrefix = prefix
			d.Retrieve = l.retrieve(prefix)
		} else {
			d.DerivedValues = nil
		}
		out = append(out, api.Adapt(d))
	}
	return out
}

// retrieve says that everything is as expected. While a key is broken it
// returns all values below the prefix, whatever it is asked for, as real
// descriptors do.
func (l *load) retrieve(prefix string) func([]api.KV[*model.Item, int]) ([]api.KV[*model.Item, int], error) {
	return func(correlate []api.KV[*model.Item, int]) (found []api.KV[*model.Item, int], _ error) {
		if l.broken == "" {
			return correlate, nil
		}
		start := time.Now()
		for i, key := range l.keys {
			if strings.HasPrefix(key, prefix) {
				found = append(found, api.KV[*model.Item, int]{Key: key, Value: l.values[i], Origin: api.FromNB})
			}
		}
		l.retrieving += time.Since(start)
		return found, nil
	}
}

// bench is a scheduler with a load in it.
type bench struct {
	*load
	c     *engine.Engine
	watch api.StatusWatch
	stop  func()
}

func newBench(tb testing.TB, n int) *bench {
	return newBenchWith(tb, n, record.Options{MaxEntries: 1000, MaxBytes: 64 << 20})
}

func newBenchWith(tb testing.TB, n int, history record.Options) *bench {
	b := &bench{load: newLoad(n), c: engine.New(engine.Options{Record: true, History: history, CallbackTimeout: 30 * time.Second})}
	if err := b.c.RegisterKVDescriptor(b.descriptors()...); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); b.c.Run(ctx) }()
	b.stop = func() { cancel(); <-done }
	tb.Cleanup(b.stop)
	return b
}

// change is a list of values in the order of a configuration; nil deletes.
type change struct {
	keys  []string
	items []*model.Item
}

func (c *change) set(key string, it *model.Item) {
	c.keys, c.items = append(c.keys, key), append(c.items, it)
}

func one(key string, it *model.Item) *change {
	c := &change{}
	c.set(key, it)
	return c
}

func (b *bench) commit(tb testing.TB, c *change, opts ...api.TxnOption) {
	txn := b.c.StartNBTransaction()
	for i, key := range c.keys {
		if c.items[i] == nil {
			txn.SetValue(key, nil)
		} else {
			txn.SetValue(key, c.items[i])
		}
	}
	if _, err := txn.Commit(context.Background(), opts...); err != nil && b.broken == "" {
		tb.Fatal(err)
	}
}

func (b *bench) all(of func(*model.Item) *model.Item) *change {
	c := &change{}
	for i, key := range b.keys {
		c.set(key, of(b.values[i]))
	}
	return c
}

func same(it *model.Item) *model.Item { return it }
func deleted(*model.Item) *model.Item { return nil }
func changed(it *model.Item) *model.Item {
	other := proto.Clone(it).(*model.Item)
	other.Value += 10
	return other
}
