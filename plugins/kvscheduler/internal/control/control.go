package control

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Printer is called with every transaction: before the execution, with PreRecord set,
// and after it. Before the execution it has the plan if the transaction or
// Options.PrintPlans asks for it; morePlanned is the number of operations left out.
type Printer func(txn *api.RecordedTxn, morePlanned int)

// Options of a Control.
type Options struct {
	Log     logging.Logger
	Clock   Clock
	Rand    *rand.Rand // for the jitter of retries
	History record.Options
	// Record keeps the history; without it only the running transaction is known.
	Record bool
	Print  Printer
	// PrintPlans is how many planned operations are given to Print before the
	// execution; 0: none, unless the transaction asks for its plan.
	PrintPlans int
	// CallbackTimeout is how long callbacks are waited for; 0 is without end.
	CallbackTimeout time.Duration
	// Overdue is told the callbacks that hang whenever these change; nil: nobody
	// is. It may be called concurrently.
	Overdue func(hanging []exec.Call)
	// QuarantineAfter is how many crashes of its southbound, within an hour, put a
	// value into quarantine; 0: never, and what an earlier run put there is let go.
	QuarantineAfter int
	// Suspects is told the suspects whenever they change; nil: nobody is.
	Suspects func([]api.Suspect)
	// CheckContracts compares the values handed to callbacks before and after.
	CheckContracts bool
	// Violations is called with all contract violations of descriptors, whenever these
	// change; nil disables it. It may be called concurrently.
	Violations func([]contract.Violation)
	// Refused is called with all descriptors that could not be registered, whenever
	// there is another one; nil disables it. It may be called concurrently.
	Refused func([]registry.Refusal)
	// Unread is told which descriptors could not be read, so that nothing is known
	// of their values, whenever that changes; nil: nobody is.
	Unread func([]Unread)
	// Problems receives the values with problems whenever these change; nil: they
	// are not counted.
	Problems func(Problems)
	// Records returns how many records southbounds have sent so far, for the progress
	// of a Retrieve; nil: that is not known.
	Records func() uint64
	// Waited is told how long a transaction was in the queue; nil: nobody is.
	Waited func(t api.TxnType, d time.Duration)
	// QueueCapacity bounds the waiting transactions of the northbound; 0 is
	// queue.DefaultCapacity.
	QueueCapacity int
	// QueueAgeing is how long the northbound may go before others; 0 is
	// queue.DefaultAgeing.
	QueueAgeing time.Duration
	// Journal remembers what was made, and what is in quarantine, beyond the life of
	// the process; nil: nobody does.
	Journal Journal
	// OwnerChanged is called after each change of the owner of a value, by the worker and
	// with the graph locked; nil disables it.
	OwnerChanged func(n *graph.Node, from graph.Owner, by graph.Event)
	// Policies say what the scheduler may do with which values; nil: everything.
	Policies registry.Policies
	// RepairLost decides whether a value that the southbound has lost is created
	// again without being asked to; nil: every value is.
	RepairLost func(descriptor, key string) bool
}

// Control is the scheduler without its plugin: it implements
// api.KVScheduler. Run must be called once to execute what is queued.
type Control struct {
	opts Options

	*state
	*admission
	*timers
	*registrar
	*inspector
	*watches
	*driftDetector
	*trials
	*retries
	*unreadable
	*lossRepair

	exec       *exec.Executor
	southbound *southbound
	contracts  *contract.Tracker
	journal    *journal
	recorder   recorder
	verifier   verifier
	problems   *problemCounter

	before atomic.Pointer[func() api.ChangesStatus] // what waits before the queue; nil: nothing does

	// Of the worker.
	marked   int                             // see tellMarked
	named    uint32                          // counts transactions of the northbound; see graph.Outcome
	observed map[string]*registry.Descriptor // values that are only observed
	looking  bool                            // a look at them is planned
}

var _ api.KVScheduler = (*Control)(nil)

// New returns a Control that does nothing until Run.
func New(opts Options) *Control {
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
	c := &Control{opts: opts, contracts: contract.New(opts.Log, opts.Violations)}
	c.state = newState(&opts, registry.New().Telling(c.contracts.Value))
	c.state.overdue = exec.NewOverdue(opts.Clock, opts.CallbackTimeout, func(call exec.Call) { c.overdueCall(call) })
	c.state.overdue.Records = opts.Records
	c.admission = &admission{queue: queue.New(now, opts.QueueCapacity, opts.QueueAgeing), time: now, stopped: make(chan struct{})}
	c.timers = newTimers(opts.Clock, opts.Rand, c.admission)
	c.registrar = newRegistrar(c.state, c.admission, opts.Refused)
	c.journal = newJournal(c.state, c.timers, opts.Journal)
	c.southbound = &southbound{state: c.state, past: c.journal.past, contracts: c.contracts, sent: opts.Records}
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
	c.retries = &retries{
		state: c.state, timers: c.timers, admission: c.admission, southbound: c.southbound, journal: c.journal, trials: c.trials,
		settle: c.exec.Settle, leave: c.leave, report: opts.Overdue,
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

// Run executes what is queued until the context ends; then everything that
// still waits fails with ErrClosedScheduler.
func (c *Control) Run(ctx context.Context) {
	defer c.stop()
	defer context.AfterFunc(ctx, c.overdue.Close)()
	for e := c.queue.Pop(ctx); e != nil; e = c.queue.Pop(ctx) {
		c.do(e)
	}
}

// do executes an entry that was taken from the queue.
func (c *Control) do(e *queue.Entry) {
	defer c.southbound.endReading()
	if f, ok := e.Task.(call); ok {
		f()
		c.publish(nil) // a dry run may have refreshed values
		return
	}
	c.execute(e)
}

// execute executes a task that may become a transaction.
func (c *Control) execute(e *queue.Entry) {
	if c.opts.Waited != nil {
		c.opts.Waited(e.Task.(task).txnType(), e.Taken.Sub(e.Queued))
	}
	if news := e.Task.News(); news != nil {
		if gone := news.TakeGone(); gone != nil {
			c.process(&queue.Entry{Task: &notification{news: gone}, Queued: e.Queued, Taken: e.Taken})
		}
	}
	out := c.process(e)
	c.publish(nil) // of what was read and not executed
	if t, ok := e.Task.(committed); ok {
		t.parts().reply(out)
	}
}

func (c *Control) stop() {
	for _, e := range c.queue.Close() {
		if t, ok := e.Task.(committed); ok {
			t.parts().reply(outcome{api.NoSeqNum, api.NewTransactionError(api.ErrClosedScheduler, nil, false)})
		}
	}
	close(c.stopped)
	c.timers.stop()
	c.changes.close()
}

// Queue reports what waits and what is executed.
func (c *Control) Queue() api.QueueStatus {
	st := c.queue.Status()
	if st.Running != nil {
		st.Running.Progress = c.progressNow()
	}
	if before := c.before.Load(); before != nil {
		changes := (*before)()
		st.Changes = &changes
	}
	return st
}

// TellChanges sets the function that reports what waits before the queue.
func (c *Control) TellChanges(changes func() api.ChangesStatus) { c.before.Store(&changes) }

// Stats are the statistics of all transactions.
func (c *Control) Stats() record.Stats { return c.history.Stats() }

// CountViolations counts how often descriptors violated their contract, by descriptor.
func (c *Control) CountViolations() map[string]uint64 { return c.contracts.Counts() }

// publish reports base values whose status changed, besides those that were only read.
func (c *Control) publish(changed []string) {
	changed = append(changed, c.refreshed...)
	c.refreshed = nil
	if len(changed) == 0 {
		return
	}
	c.problems.note(changed)
	c.drifts.note(changed)
	c.watches.publish(changed)
}
