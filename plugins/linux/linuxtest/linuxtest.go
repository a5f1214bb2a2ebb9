// Package linuxtest runs the Linux plugins with the real scheduler, on the fake
// kernel or in fresh namespaces of the real one, for their tests.
package linuxtest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin"
	iptablesmodel "github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin"
	nftablesmodel "github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin"
	puntmodel "github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
)

// Label is the label of the agents.
const Label = "test"

// TAPs are the TAPs of VPP as the tests have them: logical name to name in the
// kernel.
type TAPs map[string]string

// TapHostName implements descriptor.TAPs.
func (t TAPs) TapHostName(tap string) (string, bool) { host, ok := t[tap]; return host, ok }

// Agent is an agent with the Linux plugins.
type Agent struct {
	*kvscheduler.Scheduler
	Interfaces *ifplugin.Plugin
	// Metrics are the metrics of the Linux plugins.
	Metrics *prometheus.Registry

	t     testing.TB
	agent *agent.Agent
}

// Start starts an agent in a world; it is stopped at the end of the test.
func Start(t testing.TB, w *nltest.World, extra ...infra.Plugin) *Agent {
	return StartWith(t, w, nil, extra...)
}

// StartIn is Start with a state-dir.
func StartIn(t testing.TB, w *nltest.World, stateDir string) *Agent {
	conf := kvscheduler.DefaultConfig()
	conf.StateDir = stateDir
	return start(t, w, nil, conf)
}

// StartReporting is Start with an agent that does not repair the values of descriptors.
func StartReporting(t testing.TB, w *nltest.World, descriptors ...string) *Agent {
	conf := kvscheduler.DefaultConfig()
	conf.DriftRepairFor = map[string]string{}
	for _, d := range descriptors {
		conf.DriftRepairFor[d] = kvscheduler.DriftReport
	}
	return start(t, w, nil, conf)
}

// StartAdopting is Start with an agent that adopts values of descriptors.
func StartAdopting(t testing.TB, w *nltest.World, descriptors ...string) *Agent {
	conf := kvscheduler.DefaultConfig()
	for _, d := range descriptors {
		conf.Ownership = append(conf.Ownership, kvscheduler.OwnershipRule{Descriptor: d, Policy: kvscheduler.OwnershipAdopt})
	}
	return start(t, w, nil, conf)
}

// StartQuiet is Start without the logs of tests, which take time.
func StartQuiet(t testing.TB, w *nltest.World) *Agent { return startWith(t, w, settings{quiet: true}) }

// StartQuietIn is StartQuiet with a state-dir and TAPs of VPP.
func StartQuietIn(t testing.TB, w *nltest.World, stateDir string, taps TAPs) *Agent {
	conf := kvscheduler.DefaultConfig()
	conf.StateDir = stateDir
	return startWith(t, w, settings{taps: taps, scheduler: &conf, quiet: true})
}

// StartWireguardGo is Start with the program wireguard-go.
func StartWireguardGo(t testing.TB, w *nltest.World, program string) *Agent {
	return startWith(t, w, settings{wireguardGo: program})
}

// StartPublishing is Start with a store for the states of interfaces, and an interval of their counters; 0: none.
func StartPublishing(t testing.TB, w *nltest.World, store publish.Store, counters time.Duration) *Agent {
	return startWith(t, w, settings{store: store, counters: counters})
}

// StartWithFile is Start with a file that lists containers.
func StartWithFile(t testing.TB, w *nltest.World, file string) *Agent {
	return startWith(t, w, settings{containers: file})
}

// StartWith is Start with TAPs of VPP.
func StartWith(t testing.TB, w *nltest.World, taps TAPs, extra ...infra.Plugin) *Agent {
	return start(t, w, taps, kvscheduler.DefaultConfig(), extra...)
}

func start(t testing.TB, w *nltest.World, taps TAPs, conf kvscheduler.Config, extra ...infra.Plugin) *Agent {
	return startWith(t, w, settings{taps: taps, scheduler: &conf, extra: extra})
}

// registerer is a registry of metrics.
type registerer struct{ registry *prometheus.Registry }

func (r registerer) Registry() prometheus.Registerer { return r.registry }

// settings are what agents of tests differ in.
type settings struct {
	taps        TAPs
	scheduler   *kvscheduler.Config // nil: the defaults
	engine      string              // the socket of a container engine; empty: none
	containers  string              // a file that lists containers; empty: none
	wireguardGo string              // a program; empty: none
	store       publish.Store       // for states; nil: none
	counters    time.Duration       // interval of counters in the store
	quiet       bool                // as a service: logs into nothing, and prints no transactions
	extra       []infra.Plugin
}

func startWith(t testing.TB, w *nltest.World, s settings) *Agent {
	t.Helper()
	conf := kvscheduler.DefaultConfig()
	if s.scheduler != nil {
		conf = *s.scheduler
	}
	if s.quiet {
		conf.PrintTxnSummary = kvscheduler.PrintNever
	}
	sched := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(io.Discard))
	nsConf := nsplugin.DefaultConfig()
	nsConf.DockerSocket, nsConf.MicroservicesFile = s.engine, s.containers
	ns := nsplugin.NewPlugin(nsplugin.UseKernel(w.Namespaces, w.Dir), nsplugin.UseConf(nsConf),
		nsplugin.UseDeps(func(d *nsplugin.Deps) { d.Scheduler, d.State = sched, sched }))
	var known descriptor.TAPs
	if s.taps != nil {
		known = s.taps
	}
	alloc := netalloc.NewPlugin(netalloc.UseDeps(func(d *netalloc.Deps) { d.Scheduler = sched }))
	registry := registerer{prometheus.NewRegistry()}
	label := servicelabel.NewPlugin(servicelabel.UseLabel(Label))
	ifConf := ifplugin.DefaultConfig()
	ifConf.WireguardGo = s.wireguardGo
	var stores []publish.Store
	if s.store != nil {
		stores = []publish.Store{s.store}
		ifConf.StatusPublishers, ifConf.StatisticsInterval = []string{s.store.String()}, s.counters
	}
	ifs := ifplugin.NewPlugin(ifplugin.UseConf(ifConf), ifplugin.UseDeps(func(d *ifplugin.Deps) {
		d.Scheduler, d.Namespaces, d.TAPs, d.NetAlloc, d.ServiceLabel, d.Metrics = sched, ns, known, alloc, label, registry
		d.Stores = stores
	}))
	l3 := l3plugin.NewPlugin(l3plugin.UseDeps(func(d *l3plugin.Deps) {
		d.Scheduler, d.Namespaces, d.Interfaces, d.NetAlloc = sched, ns, ifs, alloc
	}))
	items := itemplugin.UseDeps(func(d *itemplugin.Deps) {
		d.Scheduler, d.Namespaces, d.Interfaces, d.ServiceLabel = sched, ns, ifs, label
	})
	filters, tables := iptablesplugin.NewPlugin(items), nftablesplugin.NewPlugin(items)
	proxies := puntplugin.NewPlugin(puntplugin.UseDeps(func(d *puntplugin.Deps) {
		d.Scheduler, d.Namespaces, d.ServiceLabel, d.Metrics = sched, ns, label, registry
	}))
	opts := []agent.Option{agent.AllPlugins(append([]infra.Plugin{l3, filters, tables, proxies}, s.extra...)...)}
	if s.quiet {
		opts = append(opts, agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))))
	}
	a := agenttest.New(t, opts...)
	if err := a.Start(t.Context()); err != nil {
		t.Fatalf("start of the agent: %v", err)
	}
	return &Agent{Scheduler: sched, Interfaces: ifs, Metrics: registry.registry, t: t, agent: a}
}

// Stop stops the agent.
func (a *Agent) Stop() {
	a.t.Helper()
	if err := a.agent.Stop(); err != nil {
		a.t.Errorf("stop of the agent: %v", err)
	}
}

// Key returns the key of an item of Linux.
func Key(t testing.TB, m proto.Message) string {
	t.Helper()
	set, err := models.NewSet(ifmodel.InterfaceModel, l3model.ARPModel, l3model.RouteModel, l3model.RuleModel, l3model.NexthopModel, iptablesmodel.RuleChainModel, nftablesmodel.TableModel, puntmodel.ProxyModel, netallocmodel.IPAllocationModel)
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range set.All() {
		if key, err := model.KeyOf(m); err == nil {
			return key
		}
	}
	t.Fatalf("%T is no item of Linux", m)
	return ""
}

// Apply sets values in one transaction and returns its error.
func (a *Agent) Apply(values ...proto.Message) error {
	a.t.Helper()
	txn := a.StartNBTransaction()
	for _, v := range values {
		txn.SetValue(Key(a.t, v), v)
	}
	_, err := txn.Commit(a.t.Context())
	return err
}

// Resync makes the values the whole configuration.
func (a *Agent) Resync(values ...proto.Message) error {
	a.t.Helper()
	txn := a.StartNBTransaction()
	for _, v := range values {
		txn.SetValue(Key(a.t, v), v)
	}
	_, err := txn.Commit(a.t.Context(), api.WithResync(api.FullResync, true))
	return err
}

// Delete deletes values in one transaction and returns its error.
func (a *Agent) Delete(values ...proto.Message) error {
	a.t.Helper()
	txn := a.StartNBTransaction()
	for _, v := range values {
		txn.SetValue(Key(a.t, v), nil)
	}
	_, err := txn.Commit(a.t.Context())
	return err
}

// Expect checks the states of values.
func (a *Agent) Expect(state api.ValueState, values ...proto.Message) {
	a.t.Helper()
	for _, v := range values {
		a.ExpectKey(state, Key(a.t, v))
	}
}

// ExpectKey checks the state of one value, derived ones included.
func (a *Agent) ExpectKey(state api.ValueState, key string) {
	a.t.Helper()
	if got := a.State(key); got.GetState() != state {
		a.t.Errorf("%s is %s (%s), expected %s", key, got.GetState(), got.GetError(), state)
	}
}

// State returns the status of one value.
func (a *Agent) State(key string) *api.ValueStatus { return a.GetValueStatus(key).GetValue() }

// Executed lists the operations of the last transaction that were not only
// bookkeeping, as "CREATE key".
func (a *Agent) Executed() []string {
	var ops []string
	for _, txn := range a.last() {
		for _, op := range txn.Executed {
			if !op.NOOP {
				ops = append(ops, op.Operation.String()+" "+op.Key)
			}
		}
	}
	return ops
}

func (a *Agent) last() []*api.RecordedTxn {
	all := a.GetTransactionHistory(time.Time{}, time.Time{})
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].TxnType == api.NBTransaction {
			return all[i : i+1]
		}
	}
	return nil
}

// Quiet waits until everything that the kernel said so far has been handled,
// and until the condition holds.
func (a *Agent) Quiet(what string, done func() bool) {
	a.t.Helper()
	nltest.Poll(a.t, what, func() bool { a.TransactionBarrier(); return done() })
}

// ErrorText returns the text of an error without its line breaks.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	var b bytes.Buffer
	for err := range strings.SplitSeq(err.Error(), "\n") {
		b.WriteString(err + " ")
	}
	return b.String()
}

// Failed returns the error of the value with the key in a failed transaction.
func Failed(err error, key string) error {
	var txnErr *api.TransactionError
	if errors.As(err, &txnErr) {
		for _, kv := range txnErr.GetKVErrors() {
			if kv.Key == key {
				return kv.Error
			}
		}
	}
	return nil
}
