// Command with_metadata runs the plugin skeleton whose values have metadata,
// on a device in memory, and takes three items through their life.
//
//	go run ./examples/plugin-skeleton/with_metadata
//
// The plugin to copy is in the folder skeleton.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton"
	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton/metaidx"
	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts an agent, which stops when the demonstration is over.
func run(out io.Writer, opts ...agent.Option) error {
	conf := kvscheduler.DefaultConfig()
	conf.PrintTxnSummary = kvscheduler.PrintNever // the device prints its operations
	scheduler := kvscheduler.NewPlugin(kvscheduler.UseConf(conf))
	p := skeleton.NewPlugin(skeleton.UseDeps(func(d *skeleton.Deps) {
		d.Scheduler = scheduler
		d.Device = newDevice(out)
	}))
	demo := &demo{out: out, over: make(chan struct{})}
	demo.SetName("demo")
	demo.Scheduler, demo.Skeleton = scheduler, p
	a := agent.NewAgent(append(opts, agent.AllPlugins(demo), agent.QuitOnClose(demo.over))...)
	if err := a.Run(); err != nil {
		return err
	}
	return demo.err
}

// demo plays the northbound.
type demo struct {
	Deps
	out  io.Writer
	over chan struct{}
	err  error
}

// Deps is what the demonstration needs.
type Deps struct {
	infra.PluginDeps
	Scheduler *kvscheduler.Scheduler
	Skeleton  *skeleton.Plugin
}

// Init has nothing to do.
func (d *demo) Init() error { return nil }

// AfterInit starts the demonstration.
func (d *demo) AfterInit() error {
	d.Go(func(ctx context.Context) {
		defer close(d.over)
		d.err = d.play(ctx)
	})
	return nil
}

func (d *demo) play(ctx context.Context) error {
	item := func(name string, size uint32, parent string) *model.Item {
		return &model.Item{Name: name, Size: size, Parent: parent}
	}
	steps := []struct {
		title string
		items []*model.Item
	}{
		{"a child comes before its parent and waits", []*model.Item{item("child", 1, "parent")}},
		{"the parent comes", []*model.Item{item("parent", 2, "")}},
		{"the parent grows", []*model.Item{item("parent", 3, "")}},
		{"a size that is not possible", []*model.Item{item("huge", 1000, "")}},
	}
	for _, s := range steps {
		fmt.Fprintf(d.out, "# %s\n", s.title)
		txn := d.Scheduler.StartNBTransaction()
		for _, i := range s.items {
			txn.SetValue(model.ModelItem.Key(i), i)
		}
		if _, err := txn.Commit(ctx); err != nil {
			fmt.Fprintln(d.out, "error:", err)
		}
	}
	for name, meta := range d.Skeleton.Items().All() {
		fmt.Fprintf(d.out, "metadata: %s has number %d\n", name, meta.Index)
	}
	fmt.Fprintf(d.out, "index: number 2 is %v\n", metaidx.ByIndex.Lookup(d.Skeleton.Items(), 2))
	fmt.Fprintln(d.out, "# a full resync without items removes them, the child first")
	_, err := d.Scheduler.StartNBTransaction().Commit(ctx, api.WithResync(api.FullResync, false))
	return err
}
