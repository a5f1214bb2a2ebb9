package control

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/status"
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
	// Breaches is told which descriptors break their contract, and how, whenever
	// that changes; nil: nobody is. It may be called concurrently.
	Breaches func([]Breach)
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
	opts  Options
	log   logging.Logger
	clock Clock

	queue   *queue.Queue
	history *record.Ring

	mu       sync.RWMutex // guards graph against readers; only the worker writes
	graph    *graph.Graph
	exec     *exec.Executor
	registry atomic.Pointer[registry.Registry]
	readers  status.Reader // what all of them have in common; see reader
	register sync.Mutex    // one registration at a time

	// Of the worker.
	nextSeq        uint64
	marked         int // see tellMarked
	fullResyncDone bool
	named          uint32 // counts transactions of the northbound; see graph.Outcome

	sessMu   sync.Mutex
	sessions map[string]session // southbounds that were heard of

	watchMu sync.Mutex
	waiting map[string][]chan struct{} // for the registration of a prefix

	changes   *changes // of statuses
	refreshed []string // of the worker: base values that a refresh changed
	problems  problems // of the worker
	progress  progress

	drifts   *drifts
	losses   losses
	keeper   keeper
	refusals atomic.Pointer[api.Refusals]             // nil: nobody tells
	before   atomic.Pointer[func() api.ChangesStatus] // what waits before the queue; nil: nobody tells

	observed map[string]*registry.Descriptor // of the worker: values that are only observed
	looking  bool                            // a look at them is planned

	reads      *refresh.Reads
	rereads    rereads
	decisions  decisions
	nextReread atomic.Pointer[time.Time] // nil: none is planned

	ward     ward
	breaches breaches
	panics   map[panicPlace]bool // of the worker: those that were logged
	overdue  *exec.Overdue
	returns  atomic.Bool // a job for callbacks that returned late is queued

	timersMu sync.Mutex
	timers   map[*timer]struct{}
	stopped  chan struct{}
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
	c := &Control{
		opts: opts, log: opts.Log, clock: opts.Clock,
		queue:    queue.New(opts.Clock.Now, opts.QueueCapacity, opts.QueueAgeing),
		history:  record.NewRing(opts.History),
		graph:    graph.New(),
		sessions: map[string]session{},
		changes:  newChanges(rand.Uint64()),
		problems: newProblems(),
		waiting:  map[string][]chan struct{}{},
		drifts:   newDrifts(),
		losses:   newLosses(),
		reads:    refresh.NewReads(opts.Clock.Now),
		timers:   map[*timer]struct{}{},
		stopped:  make(chan struct{}),
	}
	c.graph.OwnerChanged = opts.OwnerChanged
	c.registry.Store(registry.New().Telling(c.derivedBreach))
	c.overdue = exec.NewOverdue(c.clock, opts.CallbackTimeout, c.overdueCall)
	c.overdue.Records = opts.Records
	c.exec = &exec.Executor{Graph: c.graph, Lock: &c.mu, Now: c.clock.Now, Refresh: c.refreshKeys, Doubt: c.doubt, Overdue: c.overdue,
		Crashes: exec.NewCrashes(), CheckContracts: opts.CheckContracts, Panicked: c.panicked}
	c.ward = ward{after: opts.QuarantineAfter, suspects: map[string]*suspect{}, queued: map[string]int{}, changed: map[string]bool{}}
	c.readers = c.newReaders()
	c.openJournal()
	c.openWard()
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
	defer c.endReading()
	if f, ok := e.Task.(call); ok {
		f()
		c.notifyWatchers(nil) // a dry run may have refreshed values
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
	c.notifyWatchers(nil) // of what was read and not executed
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
	c.stopTimers()
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

// TellChanges sets who tells what waits before the queue.
func (c *Control) TellChanges(changes func() api.ChangesStatus) { c.before.Store(&changes) }

// Stats are the statistics of all transactions.
func (c *Control) Stats() record.Stats { return c.history.Stats() }

// RegisterKVDescriptor implements api.Registrar.
func (c *Control) RegisterKVDescriptor(descriptors ...*api.KVDescriptor) error {
	c.register.Lock()
	defer c.register.Unlock()
	before := c.registry.Load()
	next, err := before.With(descriptors)
	c.registry.Store(next)
	c.reportRefused(next.Refused(), len(before.Refused()))
	var prefixes []string
	for _, d := range descriptors {
		if d != nil && d.NBKeyPrefix != "" && next.ByName(d.Name) != nil {
			prefixes = append(prefixes, d.NBKeyPrefix)
		}
	}
	c.wakeRegistrationWatchers(prefixes)
	if c.hasUnimplemented() {
		err = errors.Join(err, c.push(descriptorRegistered{}))
	}
	return err
}

// CheckDescriptors reports references to descriptors that nobody registered;
// to be called when all plugins are initialised.
func (c *Control) CheckDescriptors() error { return c.registry.Load().Check() }

// reportRefused logs the refusals from number known on, and reports all of them.
// Plugins may ignore the error of RegisterKVDescriptor.
func (c *Control) reportRefused(all []registry.Refusal, known int) {
	for _, refusal := range all[known:] {
		c.log.Error("descriptor refused: its values will be INVALID", "descriptor", refusal.Name, "error", refusal.Err)
	}
	if c.opts.Refused != nil && len(all) > known {
		c.opts.Refused(all)
	}
}

func (c *Control) hasUnimplemented() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found := false
	c.graph.Nodes(func(n *graph.Node) bool {
		found = n.Desc == nil && n.Base == nil
		return !found
	})
	return found
}

// push queues a task that the capacity of the queue does not limit.
func (c *Control) push(t queue.Task) error {
	return c.queue.Push(context.Background(), &queue.Entry{Task: t})
}

// onWorker runs f in its turn and waits for it. If ctx ends before, f is not
// run.
func (c *Control) onWorker(ctx context.Context, f func()) error {
	done := make(chan struct{})
	e := &queue.Entry{Task: call(func() {
		defer close(done)
		f()
	})}
	if err := c.queue.Push(ctx, e); err != nil {
		return err
	}
	canceled := ctx.Done()
	for {
		select {
		case <-done:
			return nil
		case <-c.stopped:
			return api.ErrClosedScheduler
		case <-canceled:
			if c.queue.Cancel(e) {
				return context.Cause(ctx)
			}
			canceled = nil // f uses what the caller owns: it has to end
		}
	}
}

// TransactionBarrier implements api.Notifier.
func (c *Control) TransactionBarrier() {
	_ = c.onWorker(context.Background(), func() {}) // a closed scheduler executes nothing more: the barrier holds
}

// PushSBNotification implements api.Notifier.
func (c *Control) PushSBNotification(notifications ...api.KVWithMetadata) error {
	if len(notifications) == 0 {
		return nil
	}
	return c.push(&notification{news: queue.NewNews(notifications)})
}
