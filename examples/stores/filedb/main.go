// Command filedb follows a file of configuration while people edit it.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	echo 'configuration-paths: [examples/stores/filedb/network.yaml]' > /tmp/filedb.conf
//	go run ./examples/stores/filedb --filedb-config /tmp/filedb.conf
//
// It prints
//
//	there are 2 items:
//	  config/vpp/v2/interfaces/loop1 (network.yaml:4): enabled:true
//	  config/vpp/v2/interfaces/loop2 (network.yaml:7): enabled:false
//
// and, when loop2 is enabled in an editor,
//
//	config/vpp/v2/interfaces/loop2 (network.yaml:7): enabled:true
//
// A mistake in the file changes nothing but the health of the agent, which says in
// which line it is. The files of a directory are one store; what they may contain is
// decided by the Format, here interfaces of VPP alone.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tenuto-dev/tenuto/examples/internal/demo"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, opts ...agent.Option) error {
	set, err := models.NewSet(vppifmodel.InterfaceModel)
	if err != nil {
		return err
	}
	store := filedb.NewPlugin(filedb.UseFormat(document.New(set)))
	return demo.Run(func(ctx context.Context) error {
		if store.Disabled() {
			_, err := fmt.Fprintln(out, "filedb is disabled; give it a configuration with --filedb-config FILE")
			return err
		}
		// Keys without a label belong to every agent; what is below the prefix of
		// this agent is what it watches.
		return store.Watch(ctx, "/vnf-agent/vpp1/", func(u kv.Update) error { return show(out, u) })
	}, []infra.Plugin{store}, opts...)
}

// show prints what the store reports: first everything, then what changes.
func show(out io.Writer, u kv.Update) error {
	if u.Resync {
		fmt.Fprintf(out, "there are %d items:\n", len(u.Changes))
	}
	for _, ch := range u.Changes {
		if ch.Deleted {
			fmt.Fprintf(out, "  %s is gone\n", ch.Key)
			continue
		}
		var item interfaces.Interface
		if err := ch.Value.Decode(&item); err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s (%s): enabled:%v\n", ch.Key, filepath.Base(ch.Location.Text(ch.Key)), item.Enabled)
	}
	return nil
}
