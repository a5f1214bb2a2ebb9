// Command redis shows what the connector to Redis can do: entries that expire, and
// following what changes.
//
// It needs a Redis (Debian: apt install redis-server). Run it from the root of the
// repository; it ends by itself:
//
//	echo 'endpoint: 127.0.0.1:6379' > /tmp/redis.conf
//	go run ./examples/stores/redis --redis-config /tmp/redis.conf
//
// It prints
//
//	there are 0 sessions
//	session ada: new
//	session ada: gone
//
// Redis announces changes only if notify-keyspace-events is set. The connector sets
// it, or, if it has no permission, the health of the agent names the remedy. A cluster (endpoints) and sentinels (master-name, endpoints) are configured
// in the same file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/examples/internal/demo"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
)

// prefix is what the keys of the sessions begin with.
const prefix = "/example/session/"

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, opts ...agent.Option) error {
	store := redis.NewPlugin()
	return demo.Run(func(ctx context.Context) error {
		if store.Disabled() {
			_, err := fmt.Fprintln(out, "redis is disabled; give it a configuration with --redis-config FILE")
			return err
		}
		return runDemo(ctx, out, store)
	}, []infra.Plugin{store}, opts...)
}

// runDemo follows the sessions and begins one when it knows the content. The
// session ends by expiry, which is a change like any other. The connector reports
// the whole content once it is connected, so there is nothing to wait for first.
func runDemo(ctx context.Context, out io.Writer, store kv.Connector) error {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var failed error
	err := store.Watch(ctx, prefix, func(u kv.Update) error {
		if u.Resync {
			fmt.Fprintf(out, "there are %d sessions\n", len(u.Changes))
			if failed = store.DB().Put(ctx, prefix+"ada", []byte("begun"), kv.WithTTL(time.Second)); failed != nil {
				enough()
			}
			return failed
		}
		for _, ch := range u.Changes {
			if !ch.Deleted {
				fmt.Fprintf(out, "session %s: new\n", strings.TrimPrefix(ch.Key, prefix))
				continue
			}
			fmt.Fprintf(out, "session %s: gone\n", strings.TrimPrefix(ch.Key, prefix))
			enough()
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(failed, err)
}
