package api

import "time"

// The classes of what waits in the queue of the scheduler: transactions of the
// northbound; notifications of the southbound, merged; retries of what failed;
// values that got a descriptor; southbounds that came or went; and what looks
// at the state in its turn (plans, barriers, dumps of the southbound).
const (
	QueueNorthbound    = "northbound"
	QueueNotifications = "notifications"
	QueueRetries       = "retries"
	QueueUnimplemented = "unimplemented"
	QueueSessions      = "sessions"
	QueueCalls         = "calls"
)

// QueueClasses lists the classes in a fixed order.
func QueueClasses() []string {
	return []string{QueueNorthbound, QueueNotifications, QueueRetries, QueueUnimplemented, QueueSessions, QueueCalls}
}

// QueueStatus is what waits for its turn at the moment.
type QueueStatus struct {
	Length   int            // all that waits
	Capacity int            // how many of the northbound can wait
	Waiting  map[string]int // by class, every class
	// OldestAge is how long what came first has been waiting; 0 if nothing waits.
	OldestAge time.Duration
	// Running is what is executed; nil: nothing.
	Running *RunningTxn
	// Changes are those of the northbound that are not in the queue yet; nil if
	// nobody tells.
	Changes *ChangesStatus
}

// RunningTxn is what has its turn in the queue.
type RunningTxn struct {
	Class       string // of the classes of the queue
	Description string // of the transaction; may be empty
	// For is how long it has had its turn.
	For time.Duration
	// Progress is how far it is; nil while it is queued, planned or recorded.
	Progress *Progress
}

// The phases of Progress.
const (
	PhaseRetrieving = "retrieving" // and comparing what was read
	PhaseExecuting  = "executing"
)

// Progress is how far a transaction is.
type Progress struct {
	Phase string
	// Descriptor is the one whose values are retrieved.
	Descriptor string `json:",omitempty"`
	// Done is how many records the southbound has sent for the descriptor, as far as
	// that is counted, or how many operations of the plan are done. Total is the
	// number of operations; 0 while retrieving.
	Done  uint64
	Total uint64 `json:",omitempty"`
}

// ChangesStatus is what waits before the queue: the northbound hands its changes
// over one after the other, because what a change amounts to depends on what
// became of those before it.
type ChangesStatus struct {
	Capacity int // how many of clients can wait; when one more comes, one is refused
	Waiting  int // all that waits
	Clients  int // those of clients among them
	// Sources tells how many wait on behalf of which source.
	Sources map[string]int
	// Most has the most clients waiting, MostWaiting of them: a user, a host, or a
	// connection; empty: no client waits.
	Most        string
	MostWaiting int
	// OldestAge is how long what came first has been waiting; 0 if nothing waits.
	OldestAge time.Duration
	// Closed: clients wait for the initial synchronisation.
	Closed bool
	// Running is the change that has its turn, which may wait in the queue; nil: none.
	Running  *RunningChange
	Refused  uint64 // changes that found no room
	Canceled uint64 // changes that were given up while they waited
}

// RunningChange is a change that is executed.
type RunningChange struct {
	Source string // on whose behalf; may be empty
	What   string
	// For is how long it has had its turn.
	For time.Duration
}
