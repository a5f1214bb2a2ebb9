// Command bolt keeps a value over restarts in a file of its own, without a server.
//
// Run it from the root of the repository, more than once; it ends by itself:
//
//	echo 'db-path: /tmp/example-bolt.db' > /tmp/bolt.conf
//	go run ./examples/stores/bolt --bolt-config /tmp/bolt.conf
//
// It prints
//
//	started 1 times
//
// and then 2, 3 and so on. One process at a time can have the file open; another
// one waits for lock-timeout and says so.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/tenuto-dev/tenuto/examples/internal/demo"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, opts ...agent.Option) error {
	store := bolt.NewPlugin()
	return demo.Run(func(ctx context.Context) error {
		if store.Disabled() {
			_, err := fmt.Fprintln(out, "bolt is disabled; give it a configuration with --bolt-config FILE")
			return err
		}
		return runDemo(ctx, out, store.DB())
	}, []infra.Plugin{store}, opts...)
}

func runDemo(ctx context.Context, out io.Writer, db kv.DB) error {
	starts := 0
	was, err := db.Get(ctx, "/example/starts")
	switch {
	case errors.Is(err, kv.ErrNotFound): // the first one
	case err != nil:
		return err
	default:
		if starts, err = strconv.Atoi(string(was.Value)); err != nil {
			return fmt.Errorf("%s: %w", was.Key, err)
		}
	}
	starts++
	if err := db.Put(ctx, "/example/starts", []byte(strconv.Itoa(starts))); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "started %d times\n", starts)
	return err
}
