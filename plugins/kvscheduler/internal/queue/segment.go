package queue

import (
	"container/list"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

const (
	// maxOvertaken is how often transactions of the northbound may overtake another entry,
	// however short it has waited.
	maxOvertaken = 64
	// maxNamed is how many keys of a queued transaction are remembered. A transaction with
	// more keys takes longer than the entries that it could overtake.
	maxNamed = 64
)

// segment holds the entries between two fences.
type segment struct {
	northbound    list.List // of *Entry
	notifications []*Entry  // more than one if a transaction has to be executed in between
	retries       []*Entry
	fence         *Entry // ends the segment; nil of the last one

	named    map[string]uint64 // the latest transaction that names a key
	wide     uint64            // the latest transaction that may be about any key
	notified map[string]uint64 // the latest notifications of a key
}

func newSegment() *segment {
	return &segment{named: map[string]uint64{}, notified: map[string]uint64{}}
}

// wide reports whether a transaction must keep its order with all notifications.
func (e *Entry) wide() bool { return e.Wide || len(e.Named) > maxNamed }

func (s *segment) addNorthbound(e *Entry) {
	e.segment, e.elem = s, s.northbound.PushBack(e)
	if e.wide() {
		s.wide = e.id
		if n := len(s.notifications); n > 0 {
			e.after = s.notifications[n-1].id
		}
		return
	}
	for i := range e.Named {
		key := e.Named[i].Key
		s.named[key] = e.id
		e.after = max(e.after, s.notified[key])
	}
}

// removeNorthbound removes a transaction. The segment still remembers the keys of a
// canceled one, which at most causes a separate entry for notifications.
func (s *segment) removeNorthbound(e *Entry) {
	first := s.northbound.Front() == e.elem
	s.northbound.Remove(e.elem)
	e.elem = nil
	switch {
	case s.northbound.Len() == 0:
		clear(s.named)
	case first && !e.wide():
		for i := range e.Named {
			if key := e.Named[i].Key; s.named[key] == e.id {
				delete(s.named, key)
			}
		}
	}
}

// executed reports whether no transaction up to an id is queued in the segment.
func (s *segment) executed(id uint64) bool {
	next := front(&s.northbound)
	return next == nil || next.id > id
}

// addNotification returns false if it merged the entry into a queued one.
func (s *segment) addNotification(e *Entry) bool {
	after := s.wide
	for i := range e.News.Values {
		after = max(after, s.named[e.News.Values[i].Key])
	}
	if s.executed(after) {
		after = 0
	}
	into := e
	if n := len(s.notifications); n > 0 {
		last := s.notifications[n-1]
		if after <= last.after {
			into = last
		}
		after = max(after, last.after)
	}
	if into == e {
		e.after = after
		s.notifications = append(s.notifications, e)
	} else {
		into.News.merge(e.News)
	}
	for i := range e.News.Values {
		s.notified[e.News.Values[i].Key] = into.id
	}
	return into == e
}

// take takes the next entry; nil if only the fence remains.
func (s *segment) take(now time.Time, ageing time.Duration) *Entry {
	nb, other := front(&s.northbound), s.other()
	blocked := nb != nil && len(s.notifications) > 0 && s.notifications[0].id <= nb.after
	if nb == nil || blocked || other != nil && other.id < nb.id && other.overdue(now, ageing) {
		return s.takeOther(other)
	}
	for _, e := range []*Entry{first(s.notifications), first(s.retries)} {
		if e != nil && e.id < nb.id {
			e.overtaken++
		}
	}
	s.removeNorthbound(nb)
	return nb
}

func (e *Entry) overdue(now time.Time, ageing time.Duration) bool {
	waited := now.Sub(e.Queued) // negative: the clock was set back
	return waited >= ageing || waited < 0 || e.overtaken >= maxOvertaken
}

// other returns the next entry that is not a transaction of the northbound.
func (s *segment) other() *Entry {
	r, n := first(s.retries), first(s.notifications)
	if n != nil && s.executed(n.after) && (r == nil || n.id < r.id) {
		return n
	}
	return r
}

func (s *segment) takeOther(e *Entry) *Entry {
	switch {
	case e == nil:
	case e.Class == api.QueueNotifications:
		s.notifications[0] = nil
		s.notifications = s.notifications[1:]
		for i := range e.News.Values {
			if key := e.News.Values[i].Key; s.notified[key] == e.id {
				delete(s.notified, key)
			}
		}
	default:
		s.retries[0] = nil
		s.retries = s.retries[1:]
	}
	return e
}

// News holds the latest notification of a southbound for each key.
type News struct {
	Values []api.RecordedKVPair          // without Value: the value does not exist
	Meta   map[string]api.Metadata       // by key
	at     map[string]int                // of a key in Values
	gone   map[string]api.RecordedKVPair // removals of values that exist again
}

// NewNews returns the News of a sequence of notifications.
func NewNews(notifications []api.KVWithMetadata) *News {
	n := &News{Meta: make(map[string]api.Metadata, len(notifications)), at: make(map[string]int, len(notifications))}
	for _, kv := range notifications {
		n.note(api.RecordedKVPair{Key: kv.Key, Value: kv.Value, Origin: api.FromSB}, kv.Metadata)
	}
	return n
}

// note replaces the notification of a key.
func (n *News) note(kv api.RecordedKVPair, meta api.Metadata) {
	i, known := n.at[kv.Key]
	if !known {
		n.at[kv.Key] = len(n.Values)
		n.Values = append(n.Values, kv)
	} else {
		if kv.Value != nil && n.Values[i].Value == nil {
			if n.gone == nil {
				n.gone = map[string]api.RecordedKVPair{}
			}
			n.gone[kv.Key] = n.Values[i]
		}
		n.Values[i] = kv
	}
	n.Meta[kv.Key] = meta
}

// merge adds later notifications.
func (n *News) merge(later *News) {
	for _, kv := range later.Values {
		if gone, ok := later.gone[kv.Key]; ok {
			n.note(gone, nil)
		}
		n.note(kv, later.Meta[kv.Key])
	}
}

// TakeGone returns the removals of values that exist again. They have to be executed
// first, so that dependents are created again. It returns nil if there are none, and
// after the first call.
func (n *News) TakeGone() *News {
	var list []api.KVWithMetadata
	for i := range n.Values {
		if kv, ok := n.gone[n.Values[i].Key]; ok && n.Values[i].Value != nil {
			list = append(list, api.KVWithMetadata{Key: kv.Key})
		}
	}
	n.gone = nil
	if list == nil {
		return nil
	}
	return NewNews(list)
}
