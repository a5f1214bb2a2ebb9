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

// Conditions receives what impairs the scheduler: each kind as a whole, whenever it
// changes. Hanging, Violations and Refused may be called concurrently.
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
