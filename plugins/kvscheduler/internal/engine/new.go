package engine

import (
	"math/rand/v2"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// shared is what several parts of an Engine use. New sets it; it does not change later.
type shared struct {
	opts       Options
	log        logging.Logger
	clock      exec.Clock
	conditions Conditions

	state     *state
	sessions  *sessions
	reads     *refresh.Reads // the unreadable descriptors
	overdue   *exec.Overdue  // callbacks that did not return in time
	contracts *contract.Tracker
	history   *record.Ring
	admission *admission
	timers    *timers
	journal   *journal

	exec       *exec.Executor
	southbound *southbound
	owners     *ownerPolicies
	statuses   *statuses
	watches    *watches

	// These bring about transactions of their own.
	trials     *trials
	retries    *retries
	unreadable *unreadable
	losses     *lossRepair
	drift      *driftDetector
}

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
	s := &shared{opts: opts, log: opts.Log, clock: opts.Clock, conditions: opts.Conditions}
	e := &Engine{shared: s, postponed: map[string]bool{}}
	s.contracts = contract.New(s.log, s.conditions.Violations)
	s.state = newState(registry.New(s.contracts.Value))
	s.state.graph.OwnerChanged = opts.OwnerChanged
	s.sessions, s.reads, s.history = newSessions(), refresh.NewReads(s.clock.Now), record.NewRing(opts.History)
	s.overdue = exec.NewOverdue(s.clock, opts.CallbackTimeout, func(call exec.Call) { s.retries.overdueCall(call) })
	s.overdue.Records = opts.Records
	s.admission = &admission{
		queue: queue.New(s.clock.Now, opts.QueueCapacity, opts.QueueAgeing), time: s.clock.Now, stopped: make(chan struct{}),
	}
	s.timers = newTimers(s.clock, opts.Rand, s.admission)
	s.journal = &journal{shared: s, store: opts.Journal, kinds: map[string]*ownership.Kind{}, unconfirmed: refresh.NewUnconfirmed()}
	s.southbound, s.owners = &southbound{shared: s}, &ownerPolicies{s}
	s.exec = &exec.Executor{
		Graph: s.state.graph, Lock: &s.state.mu, Now: s.clock.Now, Refresh: s.southbound.refreshKeys, Doubt: s.journal.doubt, Overdue: s.overdue,
		Crashes: exec.NewCrashes(), CheckContracts: opts.CheckContracts, Panicked: newPanicLog(s.log).add,
	}
	if opts.Journal != nil {
		s.exec.Intend = s.journal.intend
	}
	s.trials = &trials{shared: s, suspects: quarantine.New(opts.QuarantineAfter), queued: map[string]int{}}
	s.retries, s.unreadable = &retries{shared: s}, &unreadable{shared: s}
	s.losses = &lossRepair{shared: s, process: e.process, paces: map[string]lostPace{}, reported: map[string]bool{}}
	s.drift = &driftDetector{shared: s, turn: make(chan struct{}, 1)}
	s.statuses = &statuses{s}
	s.watches = &watches{s, newChanges(rand.Uint64())}

	e.recorder, e.verifier, e.plans, e.observer = &recorder{s}, &verifier{s}, &plans{s}, &observer{shared: s, observed: map[string]bool{}}
	e.inspector, e.problems, e.orphans = &inspector{shared: s}, &problemCounter{s, newProblems()}, &orphanFinder{shared: s}
	e.registrar = &registrar{shared: s, waiting: map[string][]chan struct{}{}}
	e.Registrar, e.Inspector, e.Browser, e.Watcher = e.registrar, e.inspector, e.inspector, s.watches
	e.DriftDetector, e.OrphanFinder, e.Quarantine = s.drift, e.orphans, s.trials
	s.journal.open()
	s.trials.open()
	return e
}
