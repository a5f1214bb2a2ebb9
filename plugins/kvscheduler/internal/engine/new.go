package engine

import (
	"math/rand/v2"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// New returns an Engine. It executes nothing before Run.
func New(opts Options) *Engine {
	if opts.Clock == nil {
		opts.Clock = exec.SystemClock{}
	}
	if opts.Rand == nil {
		opts.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if opts.Log == nil {
		opts.Log = logging.Nop()
	}
	if opts.Conditions == nil {
		opts.Conditions = NoConditions{}
	}
	contracts := contract.New(opts.Log, opts.Conditions.Violations)
	e := &Engine{
		opts: opts, contracts: contracts, state: newState(registry.New().Telling(contracts.Value)), sessions: newSessions(),
		reads: refresh.NewReads(opts.Clock.Now), history: record.NewRing(opts.History), postponed: map[string]bool{},
	}
	e.overdue = exec.NewOverdue(opts.Clock, opts.CallbackTimeout, func(call exec.Call) { e.retries.overdueCall(call) })
	e.overdue.Records = opts.Records
	e.admission = &admission{
		queue: queue.New(opts.Clock.Now, opts.QueueCapacity, opts.QueueAgeing), time: opts.Clock.Now, stopped: make(chan struct{}),
	}
	e.timers = newTimers(opts.Clock, opts.Rand, e.admission)
	e.journal = newJournal(opts.Log, opts.Clock, e.state, e.history, e.timers, opts.Journal)
	e.state.graph.OwnerChanged = opts.OwnerChanged
	e.makeSouthbound()
	e.makeRepairs()
	e.makeViews()
	e.trials.open()
	return e
}

// makeSouthbound makes the parts that change and read the southbounds.
func (e *Engine) makeSouthbound() {
	o := &e.opts
	e.southbound = &southbound{
		log: o.Log, state: e.state, sessions: e.sessions, reads: e.reads, overdue: e.overdue, policies: o.Policies,
		unconfirmed: e.journal.unconfirmed, contracts: e.contracts, sent: o.Records,
	}
	e.exec = &exec.Executor{
		Graph: e.state.graph, Lock: &e.state.mu, Now: o.Clock.Now, Refresh: e.southbound.refreshKeys, Doubt: e.journal.doubt, Overdue: e.overdue,
		Crashes: exec.NewCrashes(), CheckContracts: o.CheckContracts, Panicked: newPanicLog(o.Log).add,
	}
	if o.Journal != nil {
		e.exec.Intend = e.journal.intend
	}
	e.owners = &ownerPolicies{e.state, o.Policies, e.journal}
	e.verifier = &verifier{e.state, e.southbound, e.owners}
	e.recorder = &recorder{clock: o.Clock, history: e.history, on: o.Record, print: o.Print, printPlans: o.PrintPlans}
}

// makeRepairs makes the parts that bring about transactions of their own.
func (e *Engine) makeRepairs() {
	o := &e.opts
	e.trials = &trials{
		log: o.Log, state: e.state, reads: e.reads, overdue: e.overdue, timers: e.timers, admission: e.admission, journal: e.journal,
		suspects: quarantine.New(o.QuarantineAfter), report: o.Conditions.Suspects, queued: map[string]int{},
	}
	e.journal.retried = e.trials.save
	e.unreadable = &unreadable{
		clock: o.Clock, state: e.state, reads: e.reads, timers: e.timers, southbound: e.southbound, trials: e.trials, report: o.Conditions.Unread,
	}
	e.observer = &observer{state: e.state, policies: o.Policies, timers: e.timers, southbound: e.southbound}
	e.orphans = &orphanFinder{
		log: o.Log, clock: o.Clock, state: e.state, sessions: e.sessions, reads: e.reads, history: e.history,
		admission: e.admission, journal: e.journal, southbound: e.southbound,
	}
	e.retries = &retries{
		log: o.Log, state: e.state, overdue: e.overdue, timers: e.timers, admission: e.admission, southbound: e.southbound, journal: e.journal,
		trials: e.trials, owners: e.owners, exec: e.exec, report: o.Conditions.Hanging,
	}
	e.losses = &lossRepair{
		log: o.Log, clock: o.Clock, state: e.state, timers: e.timers, admission: e.admission, southbound: e.southbound, trials: e.trials,
		process: e.process, wanted: o.RepairLost, paces: map[string]lostPace{},
	}
	e.drift = &driftDetector{
		log: o.Log, clock: o.Clock, state: e.state, admission: e.admission, southbound: e.southbound,
		drifts: &drifts{turn: make(chan struct{}, 1)},
	}
}

// makeViews makes the parts that answer queries.
func (e *Engine) makeViews() {
	o := &e.opts
	statuses := &statuses{state: e.state, reads: e.reads, facts: &facts{
		state: e.state, sessions: e.sessions, unreadable: e.unreadable, overdue: e.overdue, suspects: e.trials.suspects,
		contracts: e.contracts, history: e.history,
	}}
	e.watches = &watches{state: e.state, statuses: statuses, history: e.history, admission: e.admission, changes: newChanges(rand.Uint64())}
	e.inspector = &inspector{
		state: e.state, statuses: statuses, watches: e.watches, history: e.history, admission: e.admission, southbound: e.southbound,
	}
	e.problems = &problemCounter{state: e.state, statuses: statuses, conditions: o.Conditions, problems: newProblems()}
	e.plans = &plans{o.Clock, e.state, e.sessions, e.unreadable}
	e.registrar = &registrar{
		log: o.Log, state: e.state, admission: e.admission, report: o.Conditions.Refused, waiting: map[string][]chan struct{}{},
	}
	e.Registrar, e.Inspector, e.Watcher = e.registrar, e.inspector, e.watches
	e.DriftDetector, e.OrphanFinder, e.Quarantine = e.drift, e.orphans, e.trials
}
