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
	// Record enables the history; without it only the running transaction is known.
	Record bool
	Print  Printer
	// PrintPlans is how many planned operations Print gets before the execution; 0
	// disables it, unless the transaction asks for its plan.
	PrintPlans int
	// CallbackTimeout is the time limit for callbacks; 0 disables it.
	CallbackTimeout time.Duration
	// Overdue is called with the callbacks that hang, whenever these change; nil disables
	// it. It may be called concurrently.
	Overdue func(hanging []exec.Call)
	// QuarantineAfter is how many crashes of its southbound within an hour put a value
	// into quarantine; 0 disables quarantine and releases the values of earlier runs.
	QuarantineAfter int
	// Suspects is called with the suspects whenever they change; nil disables it.
	Suspects func([]api.Suspect)
	// CheckContracts makes callbacks fail that modify their arguments.
	CheckContracts bool
	// Violations is called with all contract violations of descriptors, whenever these
	// change; nil disables it. It may be called concurrently.
	Violations func([]contract.Violation)
	// Refused is called with all descriptors whose registration failed, whenever another
	// one fails; nil disables it. It may be called concurrently.
	Refused func([]registry.Refusal)
	// Unread is called with the descriptors that could not be read, whenever these change;
	// nil disables it. The state of their values is unknown.
	Unread func([]Unread)
	// Problems is called with a summary of the values with problems whenever it changes;
	// nil disables it.
	Problems func(Problems)
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
