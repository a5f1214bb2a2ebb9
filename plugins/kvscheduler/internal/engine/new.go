package engine

import (
	"math/rand/v2"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// New returns an Engine. It executes nothing before Run.
func New(opts Options) *Engine {
	if opts.Clock == nil {
		opts.Clock = SystemClock{}
	}
	if opts.Rand == nil {
		opts.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if opts.Log == nil {
		opts.Log = logging.Nop()
	}
	now := opts.Clock.Now
	e := &Engine{opts: opts, contracts: contract.New(opts.Log, opts.Violations)}
	e.state = newState(&opts, registry.New().Telling(e.contracts.Value))
	e.state.overdue = exec.NewOverdue(opts.Clock, opts.CallbackTimeout, func(call exec.Call) { e.overdueCall(call) })
	e.state.overdue.Records = opts.Records
	e.admission = &admission{queue: queue.New(now, opts.QueueCapacity, opts.QueueAgeing), time: now, stopped: make(chan struct{})}
	e.timers = newTimers(opts.Clock, opts.Rand, e.admission)
	e.registrar = newRegistrar(e.state, e.admission, opts.Refused)
	e.journal = newJournal(e.state, e.timers, opts.Journal)
	e.southbound = &southbound{state: e.state, unconfirmed: e.journal.unconfirmed, contracts: e.contracts, sent: opts.Records}
	e.exec = &exec.Executor{
		Graph: e.graph, Lock: &e.mu, Now: now, Refresh: e.southbound.refreshKeys, Doubt: e.journal.doubt, Overdue: e.state.overdue,
		Crashes: exec.NewCrashes(), CheckContracts: opts.CheckContracts, Panicked: newPanicLog(opts.Log).add,
	}
	e.graph.OwnerChanged = opts.OwnerChanged
	if opts.Journal != nil {
		e.exec.Intend = e.journal.intend
	}
	e.trials = newTrials(e.state, e.timers, e.admission, e.journal, opts.QuarantineAfter, opts.Suspects)
	e.unreadable = &unreadable{state: e.state, timers: e.timers, southbound: e.southbound, trials: e.trials, report: opts.Unread}
	e.owners = &ownerPolicies{e.state, e.journal.recorded}
	e.observer = &observer{state: e.state, timers: e.timers, southbound: e.southbound}
	e.orphanFinder = &orphanFinder{state: e.state, admission: e.admission, journal: e.journal, southbound: e.southbound}
	e.plans = plans{e.state, e.unreadable}
	e.retries = &retries{
		state: e.state, timers: e.timers, admission: e.admission, southbound: e.southbound, journal: e.journal, trials: e.trials,
		settle: e.exec.Settle, leave: e.owners.leave, report: opts.Overdue,
	}
	e.lossRepair = &lossRepair{
		state: e.state, timers: e.timers, admission: e.admission, southbound: e.southbound, trials: e.trials,
		process: e.process, wanted: opts.RepairLost, paces: map[string]lostPace{},
	}
	e.driftDetector = newDriftDetector(e.state, e.admission, e.southbound)
	e.inspector = newInspector(e.state, e.unreadable, e.retries, e.contracts)
	e.watches = newWatches(e.inspector, e.admission)
	e.problems = newProblemCounter(e.inspector, opts.Problems)
	e.recorder = recorder{state: e.state, on: opts.Record, print: opts.Print, printPlans: opts.PrintPlans}
	e.verifier = verifier{state: e.state, southbound: e.southbound}
	e.trials.open()
	return e
}
