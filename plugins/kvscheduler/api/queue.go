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
}
