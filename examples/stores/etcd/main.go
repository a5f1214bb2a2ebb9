// Command etcd shows what the connector to etcd can do: entries that live as long
// as the agent, transactions, compare-and-swap, and history.
//
// It needs an etcd (Debian: apt install etcd-server). Run it from the root of the
// repository; it ends by itself:
//
//	echo 'endpoints: [127.0.0.1:2379]' > /tmp/etcd.conf
//	go run ./examples/stores/etcd --etcd-config /tmp/etcd.conf
//
// It prints
//
//	one agent leads: true, the other one: false
//	the leader is "one"
//	moved at once: /example/b = from a
//	what happened since:
//	  put /example/a
//	  delete /example/a
//	  put /example/b
//
// Without a configuration file the connector is disabled. "config print etcd" shows
// all keys of that file, TLS among them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tenuto-dev/tenuto/examples/internal/demo"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, opts ...agent.Option) error {
	store := etcd.NewPlugin()
	return demo.Run(func(ctx context.Context) error {
		if store.Disabled() {
			_, err := fmt.Fprintln(out, "etcd is disabled; give it a configuration with --etcd-config FILE")
			return err
		}
		return runDemo(ctx, out, store.DB())
	}, []infra.Plugin{store}, opts...)
}

func runDemo(ctx context.Context, out io.Writer, db kv.DB) error {
	defer db.Delete(context.WithoutCancel(ctx), "/example/", kv.WithPrefix()) // also if it was interrupted
	if err := election(ctx, out, db); err != nil {
		return err
	}
	now, err := db.List(ctx, "/example/")
	if err != nil {
		return err
	}
	if err := move(ctx, out, db); err != nil {
		return err
	}
	return history(ctx, out, db, now.Revision, 3)
}

// election: of all who swap "nothing" for their name, one succeeds. An entry with
// kv.WithClientLifetimeTTL would go away with the leader.
func election(ctx context.Context, out io.Writer, db kv.DB) error {
	one, err := db.CompareAndSwap(ctx, "/example/leader", nil, []byte("one"))
	if err != nil {
		return err
	}
	two, err := db.CompareAndSwap(ctx, "/example/leader", nil, []byte("two"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "one agent leads: %v, the other one: %v\n", one, two)
	leader, err := db.Get(ctx, "/example/leader")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "the leader is %q\n", leader.Value)
	return err
}

// move: a transaction makes all of its changes or none, so no client sees the value twice,
// or not at all.
func move(ctx context.Context, out io.Writer, db kv.DB) error {
	if err := db.Put(ctx, "/example/a", []byte("from a")); err != nil {
		return err
	}
	if err := db.Txn(ctx, kv.Op{Key: "/example/a"}, kv.Op{Key: "/example/b", Value: []byte("from a")}); err != nil {
		return err
	}
	b, err := db.Get(ctx, "/example/b")
	if err != nil {
		return err
	}
	if _, err := db.Get(ctx, "/example/a"); !errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("/example/a is still there (%v)", err)
	}
	_, err = fmt.Fprintf(out, "moved at once: %s = %s\n", b.Key, b.Value)
	return err
}

// history: etcd keeps past changes, so a client that knows a revision misses no later
// change, regardless of the length of a disconnect. Plugins that only follow a store
// use Watch, which does this, and lists again if the history was compacted.
func history(ctx context.Context, out io.Writer, db kv.DB, since int64, events int) error {
	fmt.Fprintln(out, "what happened since:")
	enough := errors.New("enough")
	err := db.WatchFrom(ctx, "/example/", since, func(all []kv.Event) error {
		for _, e := range all {
			what := "put"
			if e.Deleted {
				what = "delete"
			}
			fmt.Fprintf(out, "  %s %s\n", what, e.Key)
			events--
		}
		if events <= 0 {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}
