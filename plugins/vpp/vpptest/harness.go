// Package vpptest runs the VPP plugins with a real scheduler against a VPP, in
// tests: the simulator, or a real one. The same cases run on both, so that the
// simulator cannot drift from what it stands for.
package vpptest

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vppplugins"
	kvs "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// patience is how long a test waits for something that must happen.
const patience = 2 * time.Minute

// Target is a VPP to run against.
type Target struct {
	// Socket is the path of the API socket.
	Socket string
	// Sim is the simulator; nil for a real VPP.
	Sim *vppsim.VPP
	// Real is the real VPP; nil for the simulator.
	Real *realvpptest.VPP
}

// ReleaseFlag names the flag of a test binary with the release of VPP for
// simulators whose options name none. If the flag is not defined or empty, they
// have the release of the bindings.
const ReleaseFlag = "vppsim-release"

// Simulator starts a simulator that ends with the test.
func Simulator(tb testing.TB, opts vppsim.Options) Target {
	tb.Helper()
	if f := flag.Lookup(ReleaseFlag); f != nil && f.Value.String() != "" && opts.Release == nil {
		table, err := binding.Release(f.Value.String())
		if err != nil {
			tb.Fatal(err)
		}
		opts.Release, opts.Version = table, f.Value.String()+"-simulated"
	}
	sim, socket := vppsim.New(opts), filepath.Join(tb.TempDir(), "api.sock")
	if err := sim.ListenUnix(socket); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := sim.Close(); err != nil {
			tb.Errorf("close the simulator: %v", err)
		}
		for _, crash := range sim.Crashes() {
			tb.Errorf("VPP would have crashed: %s", crash)
		}
	})
	return Target{Socket: socket, Sim: sim}
}

// Real starts a real VPP that ends with the test, which is skipped where none
// is installed.
func Real(tb testing.TB) Target {
	tb.Helper()
	vpp := realvpptest.Start(tb)
	return Target{Socket: vpp.Socket, Real: vpp}
}

// Restart makes the process of VPP another one, with nothing configured.
func (t Target) Restart(tb testing.TB) {
	tb.Helper()
	if t.Real != nil {
		t.Real.Kill()
		t.Real.Run()
		return
	}
	if err := t.Sim.Restart(); err != nil {
		tb.Fatal(err)
	}
}

// Harness is an agent with the VPP plugins, connected to a VPP.
type Harness struct {
	Target
	// Scheduler and the plugins of the agent.
	Scheduler *kvscheduler.Scheduler
	Mux       *govppmux.Plugin
	If        *ifplugin.Plugin

	tb    testing.TB
	agent *agent.Agent
	conf  govppmux.Config
	sched kvscheduler.Config

	identity     identity
	closeTimeout time.Duration
}

// Option changes an agent before it starts.
type Option func(*Harness)

// UseIf changes the plugin for interfaces.
func UseIf(f func(*ifplugin.Plugin)) Option { return func(b *Harness) { f(b.If) } }

// ReplyTimeout is how long VPP may be silent before a request fails.
func ReplyTimeout(d time.Duration) Option { return func(b *Harness) { b.conf.ReplyTimeout = d } }

// CallbackTimeout is the time limit of the callbacks of descriptors.
func CallbackTimeout(d time.Duration) Option { return func(b *Harness) { b.sched.CallbackTimeout = d } }

// Reconnect is the longest pause between two attempts to connect to VPP.
func Reconnect(d time.Duration) Option { return func(b *Harness) { b.conf.RetryConnectTimeout = d } }

// CloseTimeout is how long the agent waits for VPP to remove it when it disconnects.
func CloseTimeout(d time.Duration) Option { return func(b *Harness) { b.closeTimeout = d } }

// Quiet does not print transactions.
func Quiet() Option { return func(b *Harness) { b.sched.PrintTxnSummary = kvscheduler.PrintNever } }

// Summaries are where transactions are printed; without it nowhere.
func Summaries(to io.Writer) Option {
	return func(b *Harness) { kvscheduler.UseOutput(to)(b.Scheduler) }
}

// StateDir is where the scheduler keeps its journal.
func StateDir(dir string) Option {
	return func(b *Harness) { b.sched.StateDir = dir }
}

// Labelled makes the agent one of a label, which waits for the connections of the agent
// before it.
func Labelled(label string) Option {
	return func(b *Harness) {
		b.identity = identity{Program: "vpptest", Label: label, PID: os.Getpid(), Since: time.Now(), Instance: fmt.Sprintf("%08x", rand.Uint32())}
	}
}

type identity holder.Identity

func (i identity) Identity() holder.Identity { return holder.Identity(i) }

// RepairLost makes the agent create interfaces again that VPP reports as deleted, as
// agents do. Without it they stay missing, for tests of what else repairs them.
func RepairLost() Option { return func(b *Harness) { b.sched.DriftRepair = "" } }

// SearchDeaths makes the agent search for values that crash VPP after they were applied, as agents do. Without
// it tests that make VPP die again and again need not wait for the search.
func SearchDeaths() Option {
	return func(b *Harness) { b.sched.CrashWindow = kvscheduler.DefaultConfig().CrashWindow }
}

// Start starts an agent and waits until it is connected.
func Start(tb testing.TB, target Target, opts ...Option) *Harness {
	tb.Helper()
	conf := govppmux.DefaultConfig()
	conf.BinAPISocketPath = target.Socket
	conf.RetryConnectTimeout = 50 * time.Millisecond
	conf.ReplyTimeout = patience // the machine may be busy
	conf.HealthCheckProbeInterval = 0
	b := &Harness{Target: target, tb: tb, conf: conf, sched: kvscheduler.DefaultConfig()}
	b.sched.DriftRepair, b.sched.CrashWindow = kvscheduler.DriftReport, 0
	b.Scheduler = kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard))
	b.If = ifplugin.NewPlugin(ifplugin.UseDeps(func(d *ifplugin.Deps) { d.Scheduler = b.Scheduler }))
	alloc := netalloc.NewPlugin(netalloc.UseDeps(func(d *netalloc.Deps) { d.Scheduler = b.Scheduler }))
	b.If.NetAlloc = alloc
	for _, o := range opts {
		o(b)
	}
	kvscheduler.UseConf(b.sched)(b.Scheduler)
	b.Mux = govppmux.NewPlugin(govppmux.UseConf(b.conf), govppmux.UseCloseTimeout(b.closeTimeout), govppmux.UseDeps(func(d *govppmux.Deps) {
		if b.identity.Label != "" {
			d.Identity = b.identity
		}
	}))
	b.If.VPP = b.Mux
	l2 := l2plugin.NewPlugin(l2plugin.UseDeps(func(d *l2plugin.Deps) { d.Scheduler, d.IfPlugin = b.Scheduler, b.If }))
	l3 := l3plugin.NewPlugin(l3plugin.UseDeps(func(d *l3plugin.Deps) { d.Scheduler, d.IfPlugin = b.Scheduler, b.If }))
	all := []infra.Plugin{l2, l3}
	for _, p := range vppplugins.New(itemplugin.UseDeps(func(d *itemplugin.Deps) { d.Scheduler, d.IfPlugin = b.Scheduler, b.If })) {
		all = append(all, p)
	}
	b.agent = agenttest.Start(tb, all...)
	if err := b.Scheduler.RegisterKVDescriptor(linux()); err != nil {
		tb.Fatal(err)
	}
	b.Connected(0)
	return b
}

// Stop stops the agent; VPP continues.
func (b *Harness) Stop() {
	b.tb.Helper()
	if err := b.agent.Stop(); err != nil {
		b.tb.Fatalf("stop of the agent: %v", err)
	}
}

// Connected waits until VPP is connected in a session after the epoch, and the
// scheduler has taken that in. It returns the epoch.
func (b *Harness) Connected(after uint64) uint64 {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.tb.Context(), patience)
	defer cancel()
	s, err := b.Mux.WaitSession(ctx, after)
	if err != nil {
		b.tb.Fatalf("no session with VPP: %v; the reason is %v", err, s.Err)
	}
	b.Mux.OnSession(func(govppmux.Session) {})() // all others have been notified
	b.Scheduler.TransactionBarrier()
	return s.Epoch
}

// Commit makes the values wanted and returns the error of the transaction.
func (b *Harness) Commit(values map[string]proto.Message, opts ...api.TxnOption) error {
	b.tb.Helper()
	txn := b.Scheduler.StartNBTransaction()
	for key, v := range values {
		txn.SetValue(key, v)
	}
	_, err := txn.Commit(b.tb.Context(), opts...)
	return err
}

// Must is Commit that has to succeed.
func (b *Harness) Must(values map[string]proto.Message, opts ...api.TxnOption) {
	b.tb.Helper()
	if err := b.Commit(values, opts...); err != nil {
		b.tb.Fatalf("commit: %v", err)
	}
}

// State returns the state of a value, derived ones included.
func (b *Harness) State(key string) api.ValueState {
	return b.Scheduler.GetValueStatus(key).GetValue().GetState()
}

// Want fails the test unless the values have the states.
func (b *Harness) Want(states map[string]api.ValueState) {
	b.tb.Helper()
	for key, want := range states {
		if got := b.Scheduler.GetValueStatus(key).GetValue(); got.GetState() != want {
			b.tb.Errorf("%s is %s, expected %s (%s %v)", key, got.GetState(), want, got.GetError(), got.GetDetails())
		}
	}
}

// Await polls until a value has the state: it follows from what another process
// does.
func (b *Harness) Await(key string, want api.ValueState) {
	b.tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); b.State(key) != want; <-tick.C {
		if time.Now().After(deadline) {
			b.tb.Fatalf("%s is %s, expected %s\n%s", key, b.State(key), want, b.why(key))
		}
	}
}

// AwaitWhole polls until a value and all values derived from it are CONFIGURED.
func (b *Harness) AwaitWhole(key string) {
	b.tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		other := b.unconfigured(key)
		if other == "" {
			return
		}
		if time.Now().After(deadline) {
			b.tb.Fatalf("%s is %s, expected CONFIGURED\n%s", other, b.State(other), b.why(other))
		}
	}
}

// unconfigured returns the key of a value, or of one derived from it, that is not
// CONFIGURED; "" if all are.
func (b *Harness) unconfigured(key string) string {
	status := b.Scheduler.GetValueStatus(key)
	for _, v := range append(status.GetDerivedValues(), status.GetValue()) {
		if v.GetState() != kvs.ValueState_CONFIGURED {
			return cmp.Or(v.GetKey(), key)
		}
	}
	return ""
}

// Resync compares everything that is wanted with VPP and returns the
// operations, without those that do nothing.
func (b *Harness) Resync() []string {
	b.tb.Helper()
	seq, err := b.Scheduler.StartNBTransaction().Commit(b.tb.Context(), api.WithResync(api.DownstreamResync, false))
	if err != nil {
		b.tb.Fatalf("resync: %v", err)
	}
	return b.operations(seq)
}

func (b *Harness) operations(seq uint64) []string {
	var ops []string
	for _, op := range b.Scheduler.GetRecordedTransaction(seq).Executed {
		if !op.NOOP {
			ops = append(ops, strings.ToLower(op.Operation.String())+" "+op.Key)
		}
	}
	return ops
}

// Change makes the values wanted and returns the operations, without those that do
// nothing.
func (b *Harness) Change(values map[string]proto.Message) []string {
	b.tb.Helper()
	txn := b.Scheduler.StartNBTransaction()
	for key, v := range values {
		txn.SetValue(key, v)
	}
	seq, err := txn.Commit(b.tb.Context())
	if err != nil {
		b.tb.Fatalf("commit: %v", err)
	}
	return b.operations(seq)
}

// FullResync makes the values the only ones that are wanted, compares with VPP
// and returns the operations, without those that do nothing.
func (b *Harness) FullResync(values map[string]proto.Message) []string {
	b.tb.Helper()
	txn := b.Scheduler.StartNBTransaction()
	for key, v := range values {
		txn.SetValue(key, v)
	}
	seq, err := txn.Commit(b.tb.Context(), api.WithResync(api.FullResync, false))
	if err != nil {
		b.tb.Fatalf("resync: %v", err)
	}
	return b.operations(seq)
}

// InSync fails the test unless a resync has nothing to do.
func (b *Harness) InSync() {
	b.tb.Helper()
	if ops := b.Resync(); len(ops) > 0 {
		b.tb.Errorf("resync had to\n\t%s", strings.Join(ops, "\n\t"))
	}
}

// Dump returns what a descriptor reads from VPP, by key.
func (b *Harness) Dump(descriptor string) map[string]proto.Message {
	b.tb.Helper()
	all, err := b.Scheduler.DumpValuesByDescriptor(descriptor, api.SBView)
	if err != nil {
		b.tb.Fatalf("dump %s: %v", descriptor, err)
	}
	out := make(map[string]proto.Message, len(all))
	for _, kv := range all {
		out[kv.Key] = kv.Value
	}
	return out
}

// AllInterfaces returns the interfaces in VPP, of any process.
func (b *Harness) AllInterfaces() []*interfaces.SwInterfaceDetails {
	b.tb.Helper()
	all, err := binapi.Dump[*interfaces.SwInterfaceDetails](b.tb.Context(), b.Mux.Conn(),
		&interfaces.SwInterfaceDump{SwIfIndex: ^interface_types.InterfaceIndex(0)})
	if err != nil {
		b.tb.Fatal(err)
	}
	return all
}

// CLI runs a command of VPP's command line.
func (b *Harness) CLI(command string) string {
	b.tb.Helper()
	text, err := b.Mux.RunCLI(b.tb.Context(), command)
	if err != nil {
		b.tb.Fatalf("vppctl %s: %v", command, err)
	}
	return text
}

// OnBoth runs a case against the simulator and against a real VPP.
func OnBoth(t *testing.T, run func(t *testing.T, target Target)) {
	t.Helper()
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		run(t, Simulator(t, vppsim.Options{}))
	})
	t.Run("real", func(t *testing.T) { run(t, Real(t)) })
}
