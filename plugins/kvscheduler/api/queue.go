package api

import (
	"encoding/json"
	"time"
)

// The classes of queued tasks: transactions of the northbound; notifications of the
// southbound, merged; retries; values that got a descriptor; southbounds that connected or
// disconnected; and what reads the state at its position (plans, barriers, dumps).
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

// Seconds is a duration that is a number of seconds in JSON.
type Seconds time.Duration

// String returns the duration as in "1m2.5s".
func (s Seconds) String() string { return time.Duration(s).String() }

// Seconds returns the number of seconds.
func (s Seconds) Seconds() float64 { return time.Duration(s).Seconds() }

// MarshalJSON writes the number of seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(s.Seconds()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var seconds float64
	err := json.Unmarshal(data, &seconds)
	*s = Seconds(seconds * float64(time.Second))
	return err
}

// QueueStatus is the state of the queue of the scheduler.
type QueueStatus struct {
	Length   int            // number of entries
	Capacity int            // maximum number of northbound transactions
	Waiting  map[string]int // number of entries of each class
	// OldestAge is the age of the first entry; 0 if the queue is empty.
	OldestAge Seconds
	// Running is the transaction in execution; nil if there is none.
	Running *RunningTxn `json:",omitempty"`
	// Changes are the northbound changes that are not in the queue yet; nil if
	// they are not known.
	Changes *ChangesStatus `json:",omitempty"`
}

// RunningTxn is the transaction in execution.
type RunningTxn struct {
	Class       string // of the classes of the queue
	Description string `json:",omitempty"` // of the transaction
	// For is the time since the scheduler took it from the queue.
	For Seconds
	// Progress of its execution; nil while it is queued, planned or recorded.
	Progress *Progress `json:",omitempty"`
}

// The phases of Progress.
const (
	PhaseRetrieving = "retrieving" // and comparing the retrieved values
	PhaseExecuting  = "executing"
)

// Progress is the progress of a transaction.
type Progress struct {
	Phase string
	// Descriptor is the one whose values are retrieved.
	Descriptor string `json:",omitempty"`
	// Done is the number of records that the southbound has sent, as far as that is counted,
	// or of executed operations. Total is the number of operations; 0 while retrieving.
	Done  uint64
	Total uint64 `json:",omitempty"`
}

// ChangesStatus is the state of the queue of the orchestrator, which commits one northbound
// change after the other.
type ChangesStatus struct {
	Capacity int // maximum number of client changes; one more causes a rejection
	Waiting  int // number of changes
	Clients  int // number of client changes among them
	// Sources has the number of changes of each source.
	Sources map[string]int
	// Most is the user, host or connection with the most client changes, and MostWaiting
	// their number.
	Most        string `json:",omitempty"`
	MostWaiting int    `json:",omitempty"`
	// OldestAge is the age of the first change; 0 if none waits.
	OldestAge Seconds
	// Closed reports that clients wait for the initial synchronisation.
	Closed bool `json:",omitempty"`
	// Running is the change in execution, which may be in the queue of the scheduler; nil: none.
	Running  *RunningChange `json:",omitempty"`
	Refused  uint64         // changes rejected because the queue was full
	Canceled uint64         // changes canceled while they waited
}

// RunningChange is the change in execution.
type RunningChange struct {
	Source string `json:",omitempty"`
	What   string
	// For is the time since the orchestrator took it from its queue.
	For Seconds
}
