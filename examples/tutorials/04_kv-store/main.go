// Command 04_kv-store shows how a plugin uses a key-value store: it publishes
// greetings, follows the greetings of all publishers, and looks one up.
//
// It needs an etcd (Debian: apt install etcd-server), whose address is in
// etcd.conf or, as here, in the environment. Run it from the root of the
// repository and stop it with Ctrl-C:
//
//	echo 'insecure-transport: true' > /tmp/etcd.conf
//	go run ./examples/tutorials/04_kv-store --etcd-config /tmp/etcd.conf
//
// While it runs, greet from elsewhere:
//
//	etcdctl put /greetings/you '{"text": "Hello from the command line"}'
//
// The plugin does not know which store it is: the line with etcd.NewPlugin in
// newAgent decides. Put consul, redis or bolt there, and their configuration
// files instead of etcd.conf. Without a configuration file the store is
// disabled, and the plugin says so.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
)

// prefix is what the keys of the greetings begin with.
const prefix = "/greetings/"

func main() {
	if err := newAgent(os.Stdout, etcd.NewPlugin()).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(out io.Writer, store kv.Connector, opts ...agent.Option) *agent.Agent {
	g := &Greeter{out: out, every: time.Second}
	g.SetName("greeter")
	g.Store = store
	return agent.NewAgent(append(opts, agent.AllPlugins(g))...)
}

// Greeter greets, and listens to the greetings of others.
type Greeter struct {
	Deps
	out   io.Writer
	every time.Duration
}

// Deps is what the plugin needs: any store will do.
type Deps struct {
	infra.PluginDeps
	Store kv.Connector
}

// Init begins to listen, and to greet. The goroutines end before Close.
func (g *Greeter) Init() error {
	if g.Store.Disabled() {
		_, err := fmt.Fprintf(g.out, "%s is disabled; give it a configuration with --%s-config FILE\n", g.Store, g.Store)
		return err
	}
	g.Go(func(ctx context.Context) {
		// The error is for those who pass one on; Watch ends with ctx.
		_ = g.Store.Watch(ctx, prefix, g.heard)
	})
	g.Go(g.greet)
	return nil
}

// heard gets the present content (a resync), and then the changes. It misses
// nothing, however often the connection breaks.
func (g *Greeter) heard(u kv.Update) error {
	for _, ch := range u.Changes {
		if ch.Deleted {
			fmt.Fprintf(g.out, "%s greets no longer\n", ch.Key)
			continue
		}
		var greeting structpb.Struct // any message of a .proto file could be here
		if err := ch.Value.Decode(&greeting); err != nil {
			fmt.Fprintf(g.out, "%s mumbles: %v\n", ch.Key, err)
			continue
		}
		fmt.Fprintf(g.out, "%s: %s\n", ch.Key, greeting.Fields["text"].GetStringValue())
	}
	return nil
}

// greet greets again and again. The greeting expires with this agent where
// the store can do that.
func (g *Greeter) greet(ctx context.Context) {
	for n := 1; ; n++ {
		text := structpb.NewStringValue(fmt.Sprintf("Hello, %d", n))
		greeting := &structpb.Struct{Fields: map[string]*structpb.Value{"text": text}}
		err := g.Store.Put(prefix+"me", greeting, kv.WithClientLifetimeTTL())
		if errors.Is(err, kv.ErrNotSupported) {
			err = g.Store.Put(prefix+"me", greeting)
		}
		if err != nil {
			g.Log.Warn("cannot store the greeting; retrying", "error", err)
		} else if n == 1 {
			g.lookUp(ctx)
		}
		select {
		case <-time.After(g.every):
		case <-ctx.Done():
			return
		}
	}
}

// lookUp reads an entry by itself.
func (g *Greeter) lookUp(ctx context.Context) {
	item, err := g.Store.DB().Get(ctx, prefix+"me")
	if err != nil {
		g.Log.Warn("the greeting is not there", "error", err)
		return
	}
	g.Log.Info("the greeting is stored", "value", string(item.Value))
}
