package engine

import (
	"math/rand/v2"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Printer is called with every transaction: before the execution, with PreRecord set,
// and after it. Before the execution it has the plan if the transaction or
// Options.PrintPlans asks for it; morePlanned is the number of operations left out.
type Printer func(txn *api.RecordedTxn, morePlanned int)

// Conditions receives what impairs the scheduler: each kind as a whole, whenever it
// changes. Hanging, Violations, Refused and Synchronising may be called concurrently.
type Conditions interface {
	// Hanging lists the callbacks that did not return in time and have not returned yet.
	Hanging([]exec.Call)
	// Suspects lists the values that may have crashed their southbound.
	Suspects([]api.Suspect)
	// Violations lists the contract violations of descriptors.
	Violations([]contract.Violation)
	// Refused lists the descriptors whose registration failed.
	Refused([]registry.Refusal)
	// Unread lists the descriptors that could not be read, so that the state of their
	// values is unknown.
	Unread([]Unread)
	// Problems summarizes the values with problems.
	Problems(Problems)
	// Synchronising lists the southbounds that have connected and are not synchronised yet.
	Synchronising(southbounds []string)
}

// NoConditions implements Conditions and does nothing. Embed it to implement some.
type NoConditions struct{}

// Hanging does nothing.
func (NoConditions) Hanging([]exec.Call) {}

// Suspects does nothing.
func (NoConditions) Suspects([]api.Suspect) {}

// Violations does nothing.
func (NoConditions) Violations([]contract.Violation) {}

// Refused does nothing.
func (NoConditions) Refused([]registry.Refusal) {}

// Unread does nothing.
func (NoConditions) Unread([]Unread) {}

// Problems does nothing.
func (NoConditions) Problems(Problems) {}

// Synchronising does nothing.
func (NoConditions) Synchronising([]string) {}

// Options of an Engine.
type Options struct {
	Log     logging.Logger
	Clock   exec.Clock
	Rand    *rand.Rand // for the jitter of retries
	History record.Options
	// Record enables the history; without it only the running transaction is known.
	Record bool
	Print  Printer
	// PrintPlans is how many planned operations Print gets before the execution; 0
	// disables it, unless the transaction asks for its plan.
	PrintPlans int
	// CallbackTimeout is the time limit for callbacks; 0 disables it.
	CallbackTimeout time.Duration
	// QuarantineAfter is how many crashes of its southbound within an hour put a value
	// into quarantine; 0 disables quarantine and releases the values of earlier runs.
	QuarantineAfter int
	// CrashWindow is how soon after its values were applied a southbound may go down for them to
	// be the cause, with nothing in flight; 0: they never are.
	CrashWindow time.Duration
	// CheckContracts makes callbacks fail that modify their arguments.
	CheckContracts bool
	// Conditions receives what impairs the scheduler; nil disables that.
	Conditions Conditions
	// Records returns how many records southbounds have sent so far, which is the progress
	// of a Retrieve; nil: unknown.
	Records func() uint64
	// Waited is called with the time that a transaction was in the queue; nil disables it.
	Waited func(t api.TxnType, d time.Duration)
	// QueueCapacity limits the queued transactions of the northbound; 0 means
	// queue.DefaultCapacity.
	QueueCapacity int
	// QueueAgeing is how long a task may be overtaken by the northbound; 0 means
	// queue.DefaultAgeing.
	QueueAgeing time.Duration
	// Journal stores the created values, and the values in quarantine, for the next
	// process; nil disables it.
	Journal Journal
	// OwnerChanged is called after each change of the owner of a value, by the worker and
	// with the graph locked; nil disables it.
	OwnerChanged func(n *graph.Node, from graph.Owner, by graph.Event)
	// Policies are the ownership policies of values; nil: the scheduler manages all values.
	Policies registry.Policies
	// ResyncFirst announces that the northbound begins with a full resync. A southbound that
	// connects earlier is then read by that resync, or before the first other task that
	// depends on what exists, instead of at once: reading it twice costs time and memory.
	ResyncFirst bool
	// RepairLost decides whether the scheduler creates a lost value again on its own;
	// nil: it does so for all values.
	RepairLost func(descriptor, key string) bool
}

// shared is what several parts of an Engine use. New sets it; it does not change later.
type shared struct {
	opts       Options
	log        logging.Logger
	clock      exec.Clock
	conditions Conditions

	state     *state
	sessions  *sessions
	syncing   *synchronising
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
	ignored := opts.Conditions == nil
	if ignored {
		opts.Conditions = NoConditions{}
	}
	s := &shared{opts: opts, log: opts.Log, clock: opts.Clock, conditions: opts.Conditions}
	e := &Engine{shared: s, postponed: map[string]bool{}}
	s.contracts = contract.New(s.log, s.conditions.Violations)
	s.state = newState(registry.New(s.contracts.Value))
	s.state.graph.OwnerChanged = opts.OwnerChanged
	s.sessions, s.reads, s.history = newSessions(), refresh.NewReads(s.clock.Now), record.NewRing(opts.History)
	s.syncing = newSynchronising(s.conditions.Synchronising)
	s.overdue = exec.NewOverdue(s.clock, opts.CallbackTimeout, func(call exec.Call) { s.retries.overdueCall(call) })
	s.overdue.Records = opts.Records
	s.admission = &admission{
		queue: queue.New(s.clock.Now, opts.QueueCapacity, opts.QueueAgeing), time: s.clock.Now, stopped: make(chan struct{}),
	}
	s.timers = newTimers(s.clock, opts.Rand, s.admission)
	s.journal = &journal{shared: s, store: opts.Journal, kinds: map[string]*ownership.Kind{}, unconfirmed: refresh.NewUnconfirmed()}
	s.southbound, s.owners = &southbound{shared: s}, &ownerPolicies{s}
	s.exec = &exec.Executor{
		Graph: s.state.graph, Lock: &s.state.mu, Now: s.clock.Now, Policies: opts.Policies, Refresh: s.southbound.refreshKeys, Doubt: s.journal.doubt, Overdue: s.overdue,
		Crashes: exec.NewCrashes(), CheckContracts: opts.CheckContracts, Panicked: newPanicLog(s.log).add,
	}
	if opts.Journal != nil {
		s.exec.Intend = s.journal.intend
	}
	s.trials = &trials{shared: s, suspects: quarantine.New(opts.QuarantineAfter), queued: map[string]int{}}
	s.trials.late = newLateCrashes(s.trials)
	s.retries, s.unreadable = &retries{shared: s}, &unreadable{shared: s}
	s.losses = &lossRepair{shared: s, process: e.process, paces: map[string]lostPace{}, reported: map[string]bool{}}
	s.drift = &driftDetector{shared: s, turn: make(chan struct{}, 1)}
	s.statuses = &statuses{s}
	s.watches = &watches{s, newChanges(rand.Uint64())}

	e.recorder, e.verifier, e.plans, e.observer = &recorder{s}, &verifier{s}, &plans{s}, &observer{shared: s, observed: map[string]bool{}}
	e.inspector, e.problems, e.orphans = &inspector{shared: s}, &problemCounter{shared: s, problems: newProblems(), ignored: ignored}, &orphanFinder{shared: s}
	e.registrar = &registrar{shared: s, waiting: map[string][]chan struct{}{}}
	e.Registrar, e.Inspector, e.Browser, e.Watcher = e.registrar, e.inspector, e.inspector, s.watches
	e.DriftDetector, e.OrphanFinder, e.Quarantine = s.drift, e.orphans, s.trials
	s.journal.open()
	s.trials.open()
	return e
}
