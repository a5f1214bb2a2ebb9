package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// rereads is the schedule for reading unreadable descriptors again. It belongs to the
// worker.
type rereads struct {
	attempt int
	told    string // names of the unreadable descriptors at the last planReread
	planned bool   // a timer runs
}

// unreadable reads unreadable descriptors again. The worker calls its methods; those that
// only read may be called concurrently.
type unreadable struct {
	*shared

	rereads    rereads
	nextReread atomic.Pointer[time.Time] // nil: none is scheduled
}

// Unread is an unreadable descriptor: its Retrieve failed, so the existence of its
// values is unknown.
type Unread struct {
	Descriptor string
	Err        error
	Since      time.Time
}

// list lists the unreadable descriptors, sorted by name.
func (u *unreadable) list() []Unread {
	failed := u.reads.List()
	list := make([]Unread, len(failed))
	for i, f := range failed {
		list[i] = Unread{f.Desc.Name, f.Err, f.Since}
	}
	return list
}

// unread returns why it is unknown whether a value exists; empty if it is known.
func (u *unreadable) unread(n *graph.Node) string {
	if root := n.Root(); root.Have == nil {
		return u.notRead(root.Key, root.Desc)
	}
	return ""
}

func (u *unreadable) notRead(key string, d *registry.Descriptor) string {
	f := u.reads.Of(key, d)
	if f == nil {
		return ""
	}
	text := fmt.Sprintf("descriptor %q to be read, which fails since %s: %v", f.Desc.Name, stamp(f.Since), f.Err)
	if next := u.nextReread.Load(); next != nil {
		text += "; tried again at " + stamp(*next)
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// planReread schedules the next read of unreadable descriptors, after 1, 2, 4, ... up to
// 60 seconds.
func (u *unreadable) planReread() {
	r := &u.rereads
	failed := u.list()
	names := ""
	for i := range failed {
		names += failed[i].Descriptor + "\n"
	}
	if names != r.told {
		for _, name := range strings.Fields(r.told) {
			if d := u.state.registry.Load().ByName(name); !strings.Contains(names, name+"\n") && d.Session() != "" {
				u.trials.beginTrials(d.Session()) // of the suspects that had to wait for the read
			}
		}
		if !strings.Contains(r.told, names) { // more than before
			r.attempt = 0
		}
		r.told = names
		u.conditions.Unread(failed)
	}
	if len(failed) == 0 {
		u.nextReread.Store(nil)
		return
	}
	if r.planned {
		return
	}
	r.planned = true
	d := u.timers.delay(*patiently(), r.attempt)
	r.attempt++
	next := u.clock.Now().Add(d)
	u.nextReread.Store(&next)
	u.timers.after(d, &work{typ: api.SBNotification, plan: u.prepareReread})
}

// prepareReread reads unreadable descriptors again. It returns false if all reads failed.
func (u *unreadable) prepareReread(p *transaction) bool {
	u.rereads.planned, p.retryLeft = false, patiently()
	before := u.reads.List()
	if len(before) == 0 {
		return false
	}
	failed := map[*registry.Descriptor]bool{}
	for _, f := range before {
		failed[f.Desc] = true
	}
	r := u.southbound.refresher(p.request.Closed)
	r.Only = func(d *registry.Descriptor) bool { return failed[d] }
	r.All(nil)
	answered := u.answered(before)
	if len(answered) == 0 {
		return false
	}
	p.opts.Description = "read after it failed: " + strings.Join(answered, ", ")
	p.request.All = true
	p.request.DropUnwanted = u.state.fullResyncDone
	return true
}

// answered lists the descriptors that became readable, at least in part.
func (u *unreadable) answered(before []refresh.Failed) (names []string) {
	for _, f := range before {
		keys := f.Keys
		if len(keys) == 0 {
			keys = []string{""} // nothing of it could be read
		}
		if slices.ContainsFunc(keys, func(key string) bool { return u.reads.Of(key, f.Desc) == nil }) {
			names = append(names, f.Desc.Name)
		}
	}
	return names
}
