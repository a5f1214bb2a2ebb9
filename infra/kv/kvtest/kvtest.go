// Package kvtest is the test suite of connectors, run on a real server where it
// is installed. It checks the operations of a kv.DB, that its Features are
// correct, and that a kv.Store neither loses nor invents changes and keeps the
// order of each key while its server is restarted, stopped and partitioned under
// load. It also runs the servers, and a proxy that breaks connections.
package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// patience is how long a test waits for an event; it only stops a hung test.
const patience = 4 * time.Minute

// Suite is the connector and the server under test.
type Suite struct {
	// Connect returns a plugin of the connector in a running agent; stop stops
	// the agent before the end of the test.
	Connect func(tb testing.TB) (c kv.Connector, stop func())
	// Server is the server of the connector; nil if it has none that could
	// fail.
	Server Server
	// Late is how long the server may keep a write whose client has given up, and
	// still execute it, perhaps after a later one. Writes have a longer timeout.
	Late time.Duration
}

// Server is a server whose failures can be triggered.
type Server interface {
	// Restart kills it and starts it again with its data.
	Restart(tb testing.TB)
	// Pause stops the process (SIGSTOP) until resume is called.
	Pause(tb testing.TB) (resume func())
	// Partition drops all traffic, without closing connections, until heal is
	// called.
	Partition(tb testing.TB) (heal func())
}

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*bench)
	}{
		{"Entries", entries}, {"Keys", oddKeys}, {"Values", oddValues}, {"Prefixes", prefixes},
		{"Transactions", transactions}, {"CompareAndSwap", compareAndSwap}, {"CompareAndSwapRace", compareAndSwapRace},
		{"TTL", ttl}, {"ClientLifetime", clientLifetime}, {"WatchFrom", watchFrom}, {"History", history},
		{"Watch", watch}, {"WatchUnreadable", unreadable}, {"Brokers", brokers}, {"Load", load},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newBench(t, s)) })
	}
	if s.Server == nil {
		return
	}
	for _, f := range faults {
		t.Run("Load/"+f.name, func(t *testing.T) { loadWith(newBench(t, s), f) })
	}
}

// bench is the environment of one test: a connection, and a part of the store
// for it alone.
type bench struct {
	testing.TB
	suite  Suite
	c      kv.Connector
	db     kv.DB
	ctx    context.Context
	prefix string
}

func newBench(t *testing.T, s Suite) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	b := &bench{TB: t, suite: s, ctx: ctx, prefix: "/" + t.Name() + "/"}
	b.c, _ = s.Connect(t)
	b.db = b.c.DB()
	if b.db == nil {
		t.Fatal("the connector is disabled")
	}
	return b
}

// ok fails the test if there is an error.
func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) put(key, value string) {
	b.Helper()
	b.ok(b.db.Put(b.ctx, b.prefix+key, []byte(value)))
}

// want compares the entries below a prefix.
func (b *bench) want(prefix string, want ...string) kv.Listing {
	b.Helper()
	l, err := b.db.List(b.ctx, prefix)
	b.ok(err)
	var got []string
	for _, it := range l.Items {
		got = append(got, strings.TrimPrefix(it.Key, b.prefix)+"="+string(it.Value))
	}
	if !slices.Equal(got, want) {
		b.Errorf("list %q: %q, want %q", prefix, got, want)
	}
	return l
}

// unsupported checks that an unsupported operation returns ErrNotSupported.
func (b *bench) unsupported(what string, err error) {
	b.Helper()
	if !errors.Is(err, kv.ErrNotSupported) {
		b.Errorf("%s is not among the features, but: %v", what, err)
	}
}

func entries(b *bench) {
	if _, err := b.db.Get(b.ctx, b.prefix+"a"); !errors.Is(err, kv.ErrNotFound) {
		b.Errorf("get of nothing: %v", err)
	}
	b.put("b", "1")
	b.put("a", "1")
	first, err := b.db.Get(b.ctx, b.prefix+"a")
	b.ok(err)
	if first.Key != b.prefix+"a" || string(first.Value) != "1" {
		b.Errorf("got %+v", first)
	}
	b.put("a", "2")
	second, err := b.db.Get(b.ctx, b.prefix+"a")
	b.ok(err)
	if b.db.Features().Revisions != (second.Revision > first.Revision) {
		b.Errorf("revisions %d, %d; features %+v", first.Revision, second.Revision, b.db.Features())
	}
	l := b.want(b.prefix, "a=2", "b=1")
	if b.db.Features().Revisions && l.Revision < second.Revision {
		b.Errorf("the listing has revision %d, an entry in it %d", l.Revision, second.Revision)
	}
	keys, err := b.db.List(b.ctx, b.prefix, kv.KeysOnly())
	b.ok(err)
	if len(keys.Items) != 2 || keys.Items[0].Key != b.prefix+"a" || keys.Items[0].Value != nil {
		b.Errorf("keys %+v", keys)
	}
	for _, want := range []int64{1, 0} {
		if n, err := b.db.Delete(b.ctx, b.prefix+"a"); err != nil || n != want {
			b.Errorf("delete: %d, %v, want %d", n, err, want)
		}
	}
	b.want(b.prefix, "b=1")
}

func oddKeys(b *bench) {
	keys := []string{"a*", "a?", "[a]", `a\b`, "ä€", "with space", "%2F", "a//b", "a+b", "a&b=c", "~"}
	binary := b.prefix + "\xff\xff"
	if b.db.Features().TextKeys {
		b.unsupported("a key of bytes", b.db.Put(b.ctx, binary, nil))
		b.unsupported("a key without a slash", b.db.Put(b.ctx, "x", nil))
	} else {
		keys = append(keys, "\xff\xff")
	}
	for _, key := range keys {
		if err := b.db.Put(b.ctx, b.prefix+key, []byte(key)); err != nil {
			b.Errorf("%q: %v", key, err)
		}
	}
	for _, key := range keys {
		got, err := b.db.Get(b.ctx, b.prefix+key)
		if err != nil || string(got.Value) != key {
			b.Errorf("%q: %+v, %v", key, got, err)
		}
		l, err := b.db.List(b.ctx, b.prefix+key)
		if err != nil || len(l.Items) != 1 || l.Items[0].Key != b.prefix+key {
			b.Errorf("list %q: %+v, %v", key, l, err)
		}
	}
	if n, err := b.db.Delete(b.ctx, b.prefix+"a*", kv.WithPrefix()); err != nil || n != 1 {
		b.Errorf("delete of a prefix with a wildcard: %d, %v, want 1", n, err)
	}
}

func oddValues(b *bench) {
	for name, value := range map[string][]byte{
		"empty": {}, "zero": {0}, "binary": {0xff, 0, '\n', 0x80}, "large": bytes.Repeat([]byte("x"), 200_000),
	} {
		b.ok(b.db.Put(b.ctx, b.prefix+name, value))
		got, err := b.db.Get(b.ctx, b.prefix+name)
		if err != nil || !bytes.Equal(got.Value, value) {
			b.Errorf("%s: %d bytes, %v, want %d", name, len(got.Value), err, len(value))
		}
	}
	l, err := b.db.List(b.ctx, b.prefix)
	b.ok(err)
	if len(l.Items) != 4 {
		b.Errorf("%d items, want 4", len(l.Items))
	}
}

func prefixes(b *bench) {
	for _, key := range []string{"vpp1/a", "vpp1/b", "vpp10/a", "vpp", "vpp2/a"} {
		b.put(key, "x")
	}
	b.want(b.prefix+"vpp1/", "vpp1/a=x", "vpp1/b=x")
	b.want(b.prefix+"vpp1", "vpp1/a=x", "vpp1/b=x", "vpp10/a=x")
	b.want(b.prefix + "none")
	if n, err := b.db.Delete(b.ctx, b.prefix+"vpp1/", kv.WithPrefix()); err != nil || n != 2 {
		b.Errorf("delete: %d, %v, want 2", n, err)
	}
	b.want(b.prefix, "vpp=x", "vpp10/a=x", "vpp2/a=x")
}

func transactions(b *bench) {
	b.put("gone", "1")
	op := func(key string, value []byte) kv.Op { return kv.Op{Key: b.prefix + key, Value: value} }
	b.ok(b.db.Txn(b.ctx))
	b.ok(b.db.Txn(b.ctx, op("a", []byte("1")), op("gone", nil), op("b", []byte("1")), op("a", []byte("2")), op("none", nil)))
	b.want(b.prefix, "a=2", "b=1")
	if limit := b.db.Features().TxnOps; limit > 0 {
		var ops []kv.Op
		for i := range limit + 1 {
			ops = append(ops, op(fmt.Sprintf("many%04d", i), []byte("x")))
		}
		b.ok(b.db.Txn(b.ctx, ops[:limit]...))
		if err := b.db.Txn(b.ctx, append(ops, op("a", []byte("3")))...); err == nil || !strings.Contains(err.Error(), fmt.Sprint(limit)) {
			b.Errorf("more than %d operations: %v, want an error that names the limit", limit, err)
		}
		if item, err := b.db.Get(b.ctx, b.prefix+"a"); err != nil || string(item.Value) != "2" {
			b.Errorf("a rejected transaction had an effect: %+v, %v", item, err)
		}
	}
}

func compareAndSwap(b *bench) {
	key := b.prefix + "a"
	for i, step := range []struct {
		old, value []byte
		want       bool
	}{
		{[]byte("x"), []byte("1"), false}, {nil, []byte("1"), true}, {nil, []byte("2"), false},
		{[]byte("1"), []byte("2"), true}, {[]byte("1"), []byte("3"), false}, {[]byte("1"), nil, false},
		{[]byte("2"), nil, true}, {[]byte("2"), nil, false}, {nil, []byte{}, true}, {nil, []byte("4"), false}, {[]byte{}, []byte("5"), true},
	} {
		if done, err := b.db.CompareAndSwap(b.ctx, key, step.old, step.value); err != nil || done != step.want {
			b.Fatalf("step %d: %v, %v, want %v", i, done, err, step.want)
		}
	}
	b.want(b.prefix, "a=5")
}

// compareAndSwapRace counts with many concurrent counters.
func compareAndSwapRace(b *bench) {
	const counters, each = 6, 20
	key := b.prefix + "n"
	b.put("n", "0")
	var wg sync.WaitGroup
	for range counters {
		wg.Go(func() {
			for n := 0; n < each; {
				item, err := b.db.Get(b.ctx, key)
				if err != nil {
					b.Error(err)
					return
				}
				var now int
				_, _ = fmt.Sscan(string(item.Value), &now)
				done, err := b.db.CompareAndSwap(b.ctx, key, item.Value, fmt.Append(nil, now+1))
				if err != nil {
					b.Error(err)
					return
				}
				if done {
					n++
				}
			}
		})
	}
	wg.Wait()
	b.want(b.prefix, fmt.Sprintf("n=%d", counters*each))
}
