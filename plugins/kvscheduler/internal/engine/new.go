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
	c := &Engine{opts: opts, contracts: contract.New(opts.Log, opts.Violations)}
	c.state = newState(&opts, registry.New().Telling(c.contracts.Value))
	c.state.overdue = exec.NewOverdue(opts.Clock, opts.CallbackTimeout, func(call exec.Call) { c.overdueCall(call) })
	c.state.overdue.Records = opts.Records
	c.admission = &admission{queue: queue.New(now, opts.QueueCapacity, opts.QueueAgeing), time: now, stopped: make(chan struct{})}
	c.timers = newTimers(opts.Clock, opts.Rand, c.admission)
	c.registrar = newRegistrar(c.state, c.admission, opts.Refused)
	c.journal = newJournal(c.state, c.timers, opts.Journal)
	c.southbound = &southbound{state: c.state, unconfirmed: c.journal.unconfirmed, contracts: c.contracts, sent: opts.Records}
	c.exec = &exec.Executor{
		Graph: c.graph, Lock: &c.mu, Now: now, Refresh: c.southbound.refreshKeys, Doubt: c.journal.doubt, Overdue: c.state.overdue,
		Crashes: exec.NewCrashes(), CheckContracts: opts.CheckContracts, Panicked: newPanicLog(opts.Log).add,
	}
	c.graph.OwnerChanged = opts.OwnerChanged
	if opts.Journal != nil {
		c.exec.Intend = c.journal.intend
	}
	c.trials = newTrials(c.state, c.timers, c.admission, c.journal, opts.QuarantineAfter, opts.Suspects)
	c.unreadable = &unreadable{state: c.state, timers: c.timers, southbound: c.southbound, trials: c.trials, report: opts.Unread}
	c.owners = &ownerPolicies{c.state, c.journal.recorded}
	c.observer = &observer{state: c.state, timers: c.timers, southbound: c.southbound}
	c.orphanFinder = &orphanFinder{state: c.state, admission: c.admission, journal: c.journal, southbound: c.southbound}
	c.plans = plans{c.state, c.unreadable}
	c.retries = &retries{
		state: c.state, timers: c.timers, admission: c.admission, southbound: c.southbound, journal: c.journal, trials: c.trials,
		settle: c.exec.Settle, leave: c.owners.leave, report: opts.Overdue,
	}
	c.lossRepair = &lossRepair{
		state: c.state, timers: c.timers, admission: c.admission, southbound: c.southbound, trials: c.trials,
		process: c.process, wanted: opts.RepairLost, paces: map[string]lostPace{},
	}
	c.driftDetector = newDriftDetector(c.state, c.admission, c.southbound)
	c.inspector = newInspector(c.state, c.unreadable, c.retries, c.contracts)
	c.watches = newWatches(c.inspector, c.admission)
	c.problems = newProblemCounter(c.inspector, opts.Problems)
	c.recorder = recorder{state: c.state, on: opts.Record, print: opts.Print, printPlans: opts.PrintPlans}
	c.verifier = verifier{state: c.state, southbound: c.southbound}
	c.trials.open()
	return c
}
