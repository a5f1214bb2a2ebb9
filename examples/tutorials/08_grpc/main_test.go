package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

const want = `InvalidArgument: nothing was changed; update.vpp_config.interfaces[0]: `

// states has the states of interfaces; they are known when the plugin runs.
type states struct{ of *ifplugin.Plugin }

func (s states) Watch(f func(*interfaces.InterfaceNotification)) (cancel func()) {
	return s.of.States().Watch(f)
}

// startAgent starts what of an agent the tutorial needs, with a simulated VPP.
func startAgent(t *testing.T, socket string) (address string) {
	t.Helper()
	dir := t.TempDir()
	vpp := vppsim.New(vppsim.Options{})
	if err := vpp.ListenUnix(filepath.Join(dir, "vpp.sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard))
	mux := govppmux.NewPlugin(govppmux.UseDeps(func(d *govppmux.Deps) {
		d.Cfg = config.Text("govpp", "binapi-socket-path: "+filepath.Join(dir, "vpp.sock")+"\n")
	}))
	ifs := ifplugin.NewPlugin(ifplugin.UseDeps(func(d *ifplugin.Deps) { d.Scheduler, d.VPP = s, mux }))
	l3 := l3plugin.NewPlugin(l3plugin.UseDeps(func(d *l3plugin.Deps) { d.Scheduler, d.IfPlugin = s, ifs }))
	server := grpc.NewPlugin(grpc.UseDeps(func(d *grpc.Deps) {
		d.Cfg = config.Text("grpc", "endpoint: 127.0.0.1:0\nsocket: "+socket+"\n")
	}))
	o := orchestrator.NewPlugin(orchestrator.UseScheduler(s))
	agenttest.Start(t, l3, configurator.NewPlugin(configurator.UseDeps(func(d *configurator.Deps) {
		d.GRPC, d.Orchestrator, d.Scheduler, d.Interfaces = server, o, s, states{ifs}
	})))
	return server.Addr().String()
}

func TestTutorial(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "grpc.sock")
	address := startAgent(t, socket)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, address := range []string{address, "unix:" + socket} {
		var out bytes.Buffer
		if err := run(ctx, &out, address); err != nil {
			t.Fatalf("%v after\n%s", err, &out)
		}
		got := out.String()
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `  config/vpp/v2/interfaces/tutorial is INVALID
updated
wanted: a route to 10.9.0.0/16 via tutorial
there: interface tutorial with [10.8.0.1/24]
interface tutorial is UP
deleted
`) {
			t.Errorf("got\n%s", got)
		}
	}
}

func TestNoAgent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, "unix:"+filepath.Join(t.TempDir(), "nobody")); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, printed %s", err, &out)
	}
}
