package control

import (
	"container/list"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

const (
	// maxOvertaken is how often the northbound may go before a job of others,
	// however short it waits.
	maxOvertaken = 64
	// maxNamed is how many keys of a transaction are remembered while it waits.
	// One that names more takes longer than what it could overtake.
	maxNamed = 64
)

// class is the share of the queue that a job belongs to.
func (j *job) class() string {
	switch {
	case j.call != nil:
		return api.QueueCalls
	case j.session != nil:
		return api.QueueSessions
	case j.typ == api.NBTransaction:
		return api.QueueNorthbound
	case j.typ == api.SBNotification:
		return api.QueueNotifications
	case j.typ == api.RetryUnimplOps:
		return api.QueueUnimplemented
	}
	return api.QueueRetries
}

// place is where a job waits.
type place struct {
	id        uint64 // jobs that came later have a higher one
	after     uint64 // of a transaction: the notifications, of notifications: the transaction that goes first
	overtaken int

	segment *segment      // of a transaction of the northbound
	elem    *list.Element // of the same; nil unless it waits

	at   map[string]int // of notified keys in values
	gone map[string]api.RecordedKVPair
}

// segment is what waits between two fences.
type segment struct {
	northbound    list.List // of *job
	notifications []*job    // more than one where a transaction has to come between
	retries       []*job
	fence         *job // ends the segment; nil of the last one

	named    map[string]uint64 // the latest transaction that names a key
	wide     uint64            // the latest transaction that may be about any key
	notified map[string]uint64 // the latest notifications of a key
}

func newSegment() *segment {
	return &segment{named: map[string]uint64{}, notified: map[string]uint64{}}
}

// wide tells that a transaction must not change places with any notification.
func (j *job) wide() bool {
	return j.opts.Resync != api.NotResync || j.repair != nil || len(j.values) > maxNamed
}

func (s *segment) addNorthbound(j *job) {
	j.segment, j.elem = s, s.northbound.PushBack(j)
	if j.wide() {
		s.wide = j.id
		if n := len(s.notifications); n > 0 {
			j.after = s.notifications[n-1].id
		}
		return
	}
	for i := range j.values {
		key := j.values[i].Key
		s.named[key] = j.id
		j.after = max(j.after, s.notified[key])
	}
}

// removeNorthbound takes out a transaction. That a canceled one is still
// remembered by its keys costs news a place of their own at most.
func (s *segment) removeNorthbound(j *job) {
	first := s.northbound.Front() == j.elem
	s.northbound.Remove(j.elem)
	j.elem = nil
	switch {
	case s.northbound.Len() == 0:
		clear(s.named)
	case first && !j.wide():
		for i := range j.values {
			if key := j.values[i].Key; s.named[key] == j.id {
				delete(s.named, key)
			}
		}
	}
}

// executed tells whether no transaction up to the one with an id waits here.
func (s *segment) executed(id uint64) bool {
	next := front(&s.northbound)
	return next == nil || next.id > id
}

// addNotification is false if the news were added to those that wait.
func (s *segment) addNotification(j *job) bool {
	after := s.wide
	for i := range j.values {
		after = max(after, s.named[j.values[i].Key])
	}
	if s.executed(after) {
		after = 0
	}
	var into *job
	if n := len(s.notifications); n > 0 {
		into = s.notifications[n-1]
	}
	merged := into != nil && after <= into.after
	if !merged {
		if into != nil {
			after = max(after, into.after)
		}
		into = &job{typ: j.typ, meta: map[string]api.Metadata{}, queued: j.queued}
		into.id, into.after, into.at = j.id, after, map[string]int{}
		s.notifications = append(s.notifications, into)
	}
	for _, kv := range j.values {
		into.note(kv, j.meta[kv.Key])
		s.notified[kv.Key] = into.id
	}
	return !merged
}

// note replaces the news of a key.
func (j *job) note(kv api.RecordedKVPair, meta api.Metadata) {
	i, known := j.at[kv.Key]
	if !known {
		j.at[kv.Key] = len(j.values)
		j.values = append(j.values, kv)
	} else {
		if kv.Value != nil && j.values[i].Value == nil {
			if j.gone == nil {
				j.gone = map[string]api.RecordedKVPair{}
			}
			j.gone[kv.Key] = j.values[i]
		}
		j.values[i] = kv
	}
	j.meta[kv.Key] = meta
}

// take takes the next job; nil if only the fence is left.
func (s *segment) take(now time.Time, ageing time.Duration) *job {
	nb, other := front(&s.northbound), s.other()
	blocked := nb != nil && len(s.notifications) > 0 && s.notifications[0].id <= nb.after
	if nb == nil || blocked || other != nil && other.id < nb.id && other.overdue(now, ageing) {
		return s.takeOther(other)
	}
	for _, j := range []*job{first(s.notifications), first(s.retries)} {
		if j != nil && j.id < nb.id {
			j.overtaken++
		}
	}
	s.removeNorthbound(nb)
	return nb
}

func (j *job) overdue(now time.Time, ageing time.Duration) bool {
	waited := now.Sub(j.queued) // less than nothing: the clock was set back, and nobody knows
	return waited >= ageing || waited < 0 || j.overtaken >= maxOvertaken
}

// other is what is next without the northbound.
func (s *segment) other() *job {
	r, n := first(s.retries), first(s.notifications)
	if n != nil && s.executed(n.after) && (r == nil || n.id < r.id) {
		return n
	}
	return r
}

func (s *segment) takeOther(j *job) *job {
	switch {
	case j == nil:
	case j.typ == api.SBNotification:
		s.notifications[0] = nil
		s.notifications = s.notifications[1:]
		for i := range j.values {
			if key := j.values[i].Key; s.notified[key] == j.id {
				delete(s.notified, key)
			}
		}
	default:
		s.retries[0] = nil
		s.retries = s.retries[1:]
	}
	return j
}

// takeGone returns the notification that what exists again now was gone, to be
// executed first; nil if there is none.
func (j *job) takeGone() *job {
	var gone *job
	for i := range j.values {
		kv, ok := j.gone[j.values[i].Key]
		if !ok || j.values[i].Value == nil {
			continue
		}
		if gone == nil {
			gone = &job{typ: j.typ, meta: map[string]api.Metadata{}, queued: j.queued, taken: j.taken}
		}
		gone.values = append(gone.values, kv)
	}
	j.gone = nil
	return gone
}

// notification returns a job of news, in their order.
func notification(news []api.KVWithMetadata) *job {
	j := &job{typ: api.SBNotification, meta: make(map[string]api.Metadata, len(news))}
	for _, kv := range news {
		j.values = append(j.values, api.RecordedKVPair{Key: kv.Key, Value: kv.Value, Origin: api.FromSB})
		j.meta[kv.Key] = kv.Metadata
	}
	return j
}
