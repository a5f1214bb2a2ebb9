// Command consul shows how agents share a number in Consul without losing a change:
// by compare-and-swap.
//
// It needs a Consul. Run it from the root of the repository; it ends by itself:
//
//	echo 'address: 127.0.0.1:8500' > /tmp/consul.conf
//	go run ./examples/stores/consul --consul-config /tmp/consul.conf
//
// It prints
//
//	10 counted to 100 together
//	a TTL of a second: consul: put /example/counter: a TTL of 1s: Consul has 10s to 24h0m0s: the store does not support this operation
//
// Features reports what a store can do; what it cannot do is refused with
// kv.ErrNotSupported, never done by half.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/examples/internal/demo"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
)

const (
	counter = "/example/counter"
	workers = 10
	turns   = 10
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, opts ...agent.Option) error {
	store := consul.NewPlugin()
	return demo.Run(func(ctx context.Context) error {
		if store.Disabled() {
			_, err := fmt.Fprintln(out, "consul is disabled; give it a configuration with --consul-config FILE")
			return err
		}
		return runDemo(ctx, out, store.DB())
	}, []infra.Plugin{store}, opts...)
}

func runDemo(ctx context.Context, out io.Writer, db kv.DB) error {
	defer db.Delete(context.WithoutCancel(ctx), counter)
	if err := db.Put(ctx, counter, []byte("0")); err != nil {
		return err
	}
	errs := make([]error, workers)
	var done sync.WaitGroup
	for i := range workers {
		done.Go(func() {
			for range turns {
				errs[i] = errors.Join(errs[i], countOne(ctx, db))
			}
		})
	}
	done.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	total, err := db.Get(ctx, counter)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d counted to %s together\n", workers, total.Value)
	err = db.Put(ctx, counter, []byte("0"), kv.WithTTL(time.Second))
	if !errors.Is(err, kv.ErrNotSupported) {
		return fmt.Errorf("put with a TTL of a second: expected kv.ErrNotSupported, got %v", err)
	}
	_, err = fmt.Fprintln(out, "a TTL of a second:", err)
	return err
}

// countOne adds one: on a conflict it reads the new value and retries.
func countOne(ctx context.Context, db kv.DB) error {
	for {
		was, err := db.Get(ctx, counter)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(was.Value))
		if err != nil {
			return fmt.Errorf("%s: %w", counter, err)
		}
		swapped, err := db.CompareAndSwap(ctx, counter, was.Value, []byte(strconv.Itoa(n+1)))
		if err != nil || swapped {
			return err
		}
	}
}
