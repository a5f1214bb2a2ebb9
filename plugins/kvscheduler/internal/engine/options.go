package engine

import (
	"math/rand/v2"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Printer is called with every transaction: before the execution, with PreRecord set,
// and after it. Before the execution it has the plan if the transaction or
// Options.PrintPlans asks for it; morePlanned is the number of operations left out.
type Printer func(txn *api.RecordedTxn, morePlanned int)

// Options of an Engine.
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
	// Overdue is called with the callbacks that hang, whenever these change; nil disables
	// it. It may be called concurrently.
	Overdue func(hanging []exec.Call)
	// QuarantineAfter is how many crashes of its southbound, within an hour, put a
	// value into quarantine; 0: never, and what an earlier run put there is let go.
	QuarantineAfter int
	// Suspects is called with the suspects whenever they change; nil disables it.
	Suspects func([]api.Suspect)
	// CheckContracts compares the values handed to callbacks before and after.
	CheckContracts bool
	// Violations is called with all contract violations of descriptors, whenever these
	// change; nil disables it. It may be called concurrently.
	Violations func([]contract.Violation)
	// Refused is called with all descriptors that could not be registered, whenever
	// there is another one; nil disables it. It may be called concurrently.
	Refused func([]registry.Refusal)
	// Unread is called with the descriptors that could not be read, whenever these change;
	// nil disables it. The state of their values is unknown.
	Unread func([]Unread)
	// Problems receives the values with problems whenever these change; nil: they
	// are not counted.
	Problems func(Problems)
	// Records returns how many records southbounds have sent so far, for the progress
	// of a Retrieve; nil: that is not known.
	Records func() uint64
	// Waited is called with the time that a transaction was in the queue; nil disables it.
	Waited func(t api.TxnType, d time.Duration)
	// QueueCapacity bounds the waiting transactions of the northbound; 0 is
	// queue.DefaultCapacity.
	QueueCapacity int
	// QueueAgeing is how long the northbound may go before others; 0 is
	// queue.DefaultAgeing.
	QueueAgeing time.Duration
	// Journal remembers what was created, and what is in quarantine, for the next process;
	// nil disables it.
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
