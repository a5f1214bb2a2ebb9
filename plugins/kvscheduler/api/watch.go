package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Watcher follows the status of values, or waits for it.
type Watcher interface {
	// Revision returns the revision of the latest change of a status.
	Revision() StatusRevision
	// Watch begins to follow the status of values. The watch must be closed.
	Watch(req WatchRequest) StatusWatch
	// WaitFor returns nil as soon as everything asked for is true at the end of a
	// transaction, and a *WaitError when ctx ends, when the scheduler is closed, or when a
	// value cannot get there without a change.
	WaitFor(ctx context.Context, req WaitRequest) error
}

// StatusRevision counts the changes of statuses. The zero value is before all of them.
type StatusRevision struct {
	Incarnation uint64 // of the scheduler: revisions of different runs cannot be compared
	Number      uint64 // grows with each change
}

// String is a form that ParseStatusRevision reads.
func (r StatusRevision) String() string {
	return fmt.Sprintf("%016x-%d", r.Incarnation, r.Number)
}

// MarshalText returns the form of String.
func (r StatusRevision) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText accepts the output of MarshalText.
func (r *StatusRevision) UnmarshalText(text []byte) (err error) {
	*r, err = ParseStatusRevision(string(text))
	return err
}

// ParseStatusRevision parses the output of String.
func ParseStatusRevision(text string) (r StatusRevision, err error) {
	run, number, ok := strings.Cut(text, "-")
	if ok {
		r.Incarnation, err = strconv.ParseUint(run, 16, 64)
	}
	if ok && err == nil {
		r.Number, err = strconv.ParseUint(number, 10, 64)
	}
	if !ok || err != nil {
		return StatusRevision{}, fmt.Errorf("revision %q: expected one that a watch has told, as in 00c0ffee00c0ffee-17", text)
	}
	return r, nil
}

// WatchRequest selects the values to watch; the zero value selects all values, after a
// snapshot.
type WatchRequest struct {
	// Prefix of the keys of the base values to watch; empty: all.
	Prefix string
	// Selector of these keys, in addition to Prefix; nil: all. It must not call the
	// scheduler.
	Selector KeySelector
	// Since is the revision of the last event that was received; zero: begin with a
	// snapshot.
	Since StatusRevision
	// NoSnapshot begins with the changes from now on.
	NoSnapshot bool
	// NoResync keeps all pending changes, for a receiver that cannot handle a resync. Without
	// it a resync replaces them when there are more than 65,536, so that a receiver that
	// takes nothing does not use more and more memory.
	NoResync bool
}

// StatusWatch gives the events of one watch.
type StatusWatch interface {
	// Next waits for an event. Its error is ctx's error, ErrWatchClosed or
	// ErrClosedScheduler. A slow receiver gets the latest status of each value. Calls wait
	// for each other.
	Next(ctx context.Context) (*WatchEvent, error)
	// Close ends the watch and waits for Next. It may be called repeatedly.
	Close()
}

// WatchKind is the kind of the values of an event.
type WatchKind string

// The kinds of events.
const (
	// WatchSnapshot are all values that exist: the first event.
	WatchSnapshot WatchKind = "snapshot"
	// WatchDelta are values whose status changed, in the order of the changes; removed
	// values are NONEXISTENT. The details of a PENDING value are from the last change of its
	// own state.
	WatchDelta WatchKind = "delta"
	// WatchResync is a snapshot, since a revision was too old or of another run, or since the
	// receiver was so slow that too many changes were pending.
	WatchResync WatchKind = "resync"
)

// WatchEvent has everything up to Revision; values may be newer.
type WatchEvent struct {
	Kind     WatchKind          `json:"kind,omitempty"`
	Revision StatusRevision     `json:"revision"`
	Values   []*BaseValueStatus `json:"values"` // must not be changed
}

// WaitRequest lists the conditions to wait for: all of them at the same time.
type WaitRequest struct {
	// Keys of values, base or derived.
	Keys []string
	// Prefixes of base values of the northbound, at least one of each unless NONEXISTENT is
	// waited for.
	Prefixes []string
	// Txn is a transaction, running or in the history: the values that it set, and the
	// absence of those that it deleted; nil: none.
	Txn *uint64
	// Revision that has to be reached at least; zero: any.
	Revision StatusRevision
	// States: each of Keys and Prefixes must have one of them; empty: CONFIGURED. A value is
	// CONFIGURED or NONEXISTENT only if all that is derived from it is.
	States []ValueState
}

// UnmetValue is a value that is not as it is waited for.
type UnmetValue struct {
	Key    string     `json:"key"`
	State  ValueState `json:"state"`
	Reason string     `json:"reason,omitempty"` // the error, or the missing dependency
	// Final: it stays so until the configuration or the southbound changes.
	Final bool `json:"final,omitempty"`
}

// WaitError lists the values that are not in the expected state, with the reasons.
type WaitError struct {
	Unmet []UnmetValue // sorted by key
	// Cause is ErrWaitHopeless, ErrNoSuchTransaction, ErrClosedScheduler or the context's
	// error.
	Cause error
}

// maxUnmetInText bounds the values in the text of a WaitError.
const maxUnmetInText = 10

// Error names the cause and the first of the values.
func (e *WaitError) Error() string {
	var b strings.Builder
	b.WriteString(e.Cause.Error())
	for i, u := range e.Unmet {
		if i == maxUnmetInText {
			fmt.Fprintf(&b, "; and %d more", len(e.Unmet)-i)
			break
		}
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s is %v", sep, u.Key, u.State)
		if u.Reason != "" {
			b.WriteString(" (" + u.Reason + ")")
		}
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *WaitError) Unwrap() error { return e.Cause }
