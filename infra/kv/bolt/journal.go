package bolt

import (
	"context"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// maxJournal limits the recorded events; a quarter more are kept at most.
const maxJournal = 20000

// journal records recent events for watchers.
type journal struct {
	mu     sync.Mutex
	base   int64 // events up to this revision have been dropped
	now    int64
	events []kv.Event
	wake   chan struct{} // closed and replaced with each change
}

func newJournal(revision int64) *journal {
	return &journal{base: revision, now: revision, wake: make(chan struct{})}
}

// add appends the events of a revision.
func (j *journal) add(revision int64, events []kv.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.now = revision
	j.events = append(j.events, events...)
	if len(j.events) > maxJournal*5/4 {
		cut := len(j.events) - maxJournal
		for cut < len(j.events) && j.events[cut].Revision == j.events[cut-1].Revision {
			cut++
		}
		j.base = j.events[cut-1].Revision
		j.events = append([]kv.Event(nil), j.events[cut:]...) // releases the memory of the others
	}
	close(j.wake)
	j.wake = make(chan struct{})
}

// since returns the events after a revision, and a channel that is closed when
// there are more.
func (j *journal) since(revision int64) (events []kv.Event, more <-chan struct{}, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if revision < j.base || revision > j.now {
		return nil, nil, kv.ErrCompacted
	}
	i := len(j.events)
	for i > 0 && j.events[i-1].Revision > revision {
		i--
	}
	return j.events[i:len(j.events):len(j.events)], j.wake, nil
}

// watch passes the events below a prefix after a revision to handle.
func (j *journal) watch(ctx context.Context, prefix string, revision int64, handle func([]kv.Event) error) error {
	for {
		events, more, err := j.since(revision)
		if err != nil {
			return err
		}
		for len(events) > 0 {
			n := 1
			for n < len(events) && events[n].Revision == events[0].Revision {
				n++
			}
			if ctx.Err() != nil {
				return nil
			}
			if ours := below(prefix, events[:n]); len(ours) > 0 {
				if err := handle(ours); err != nil {
					return err
				}
			}
			revision, events = events[0].Revision, events[n:]
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

func below(prefix string, events []kv.Event) (ours []kv.Event) {
	for _, ev := range events {
		if strings.HasPrefix(ev.Key, prefix) {
			ours = append(ours, ev)
		}
	}
	return ours
}
