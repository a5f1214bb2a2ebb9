package follow

import (
	"cmp"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// View is the known content of the store. Its methods are for the one session
// that runs.
type View struct {
	o     Options
	place kv.Location // of all values
	seed  maphash.Seed
	ready chan struct{} // buffered: there is something to take

	told        map[string]uint64 // key without prefix -> hash of the value that was reported, or will be
	listed      bool              // Replace was called
	connected   bool
	onConnected func()
	last        Change

	mu       sync.Mutex  // guards the fields below
	identity kv.Identity // of the store, as of the last listing or event
	other    bool        // the receiver does not know that it is another store or history
	resync   *kv.Update  // reported before changes
	changes  []pending
	at       map[string]int // key -> index in changes
}

// pending is a change that has not been passed to the receiver.
type pending struct {
	kv.Change
	fresh bool // the receiver does not know the key yet
}

// Change is a change with its identity in the store, to find out later whether
// the store still has the same history.
type Change struct {
	Key      string // including the prefix
	Revision int64
	Deleted  bool
}

func newView(o Options) *View {
	if o.Value == nil {
		o.Value = func(b []byte) kv.Value { return kv.Encoded(b) }
	}
	return &View{o: o, place: kv.At(o.Store + ":" + o.Prefix).Keyed(), seed: maphash.MakeSeed(), ready: make(chan struct{}, 1), told: map[string]uint64{}, at: map[string]int{}}
}

// Prefix returns the followed prefix.
func (v *View) Prefix() string { return v.o.Prefix }

// Last returns the newest reported change. ok is false if the next session must
// list: nothing is known, or the options require a resync.
func (v *View) Last() (last Change, ok bool) {
	return v.last, v.listed && !v.o.Resync && v.last.Revision > 0
}

// LastPut returns the newest put that is known, before the first listing from before a restart, and the
// identity of the store that has it. ok is false if there is none.
func (v *View) LastPut() (last Change, of kv.Identity, ok bool) {
	of = v.Identity()
	if !v.listed {
		of = v.o.Remembered
	}
	return Change{Key: of.Put, Revision: of.PutRevision}, of, of.PutRevision > 0
}

// Identity returns the identity of the store, as of the last listing or event.
func (v *View) Identity() kv.Identity {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.identity
}

// Sample returns known keys, including the prefix, evenly spread over all of them; at most n.
func (v *View) Sample(n int) []string {
	var keys []string
	step := max(1, (len(v.told)+n-1)/n)
	for i, key := range slices.Sorted(maps.Keys(v.told)) {
		if i%step == 0 {
			keys = append(keys, v.o.Prefix+key)
		}
	}
	return keys
}

// Connected reports that the session continues where the last one ended.
// Replace calls it itself.
func (v *View) Connected() {
	if !v.connected {
		v.connected = true
		v.onConnected()
	}
}

// Compacted reports whether an error of WatchFrom only means that the session
// must list again.
func (v *View) Compacted(err error) bool {
	if !errors.Is(err, kv.ErrCompacted) {
		return false
	}
	v.o.Log.Info("the store has compacted the changes since the disconnect; reading its content again", "store", v.o.Store)
	return true
}

// Replace reports the whole content, sorted by key. The receiver gets the
// differences, or all of it the first time. Differences are inferred: they need not have
// been events.
func (v *View) Replace(listing kv.Listing) { v.replace(listing, true) }

// Continue is Replace for stores whose events are listings: the store guarantees that
// the differences are events since the last one.
func (v *View) Continue(listing kv.Listing) { v.replace(listing, false) }

func (v *View) replace(listing kv.Listing, inferred bool) {
	all := !v.listed || v.o.Resync && !v.connected
	told := make(map[string]uint64, len(listing.Items))
	var changes []pending
	v.last = Change{}
	for _, item := range listing.Items {
		ch, sum := v.change(kv.Event{Item: item})
		ch.Inferred = inferred
		told[ch.Key] = sum
		if before, known := v.told[ch.Key]; all || !known || before != sum {
			changes = append(changes, pending{ch, !known})
		}
		if item.Revision > v.last.Revision {
			v.last = Change{Key: item.Key, Revision: item.Revision}
		}
	}
	if v.last.Revision > 0 {
		listing.Identity.Put, listing.Identity.PutRevision = v.last.Key, v.last.Revision
	}
	if !all {
		for _, key := range slices.Sorted(maps.Keys(v.told)) {
			if _, there := told[key]; !there {
				changes = append(changes, pending{Change: kv.Change{Entry: kv.Entry{Key: key, Revision: listing.Revision}, Deleted: true, Inferred: inferred}})
			}
		}
	}
	v.Identify(listing.Identity)
	v.told, v.listed = told, true
	v.put(all, changes)
	v.Connected()
}

// Identify records the identity of the store as of the events that are applied next. If it is
// another store or history, the receiver gets an update even if there are no changes.
// Replace and Continue call it themselves.
func (v *View) Identify(id kv.Identity) {
	v.mu.Lock()
	v.other = v.other || v.listed && v.identity.Differs(id)
	v.identity = id
	v.mu.Unlock()
}

// Apply reports events in the order in which they happened.
func (v *View) Apply(events []kv.Event) { v.apply(events, false) }

// ApplyNew reports the events that differ from the known content, for stores whose events may
// repeat the listed content.
func (v *View) ApplyNew(events []kv.Event) { v.apply(events, true) }

func (v *View) apply(events []kv.Event, differing bool) {
	changes := make([]pending, 0, len(events))
	for _, ev := range events {
		if ev.Revision > 0 {
			v.last = Change{Key: ev.Key, Revision: ev.Revision, Deleted: ev.Deleted}
			v.reached(v.last)
		}
		ch, sum := v.change(ev)
		before, known := v.told[ch.Key]
		switch {
		case ev.Deleted && !known, differing && !ev.Deleted && known && before == sum:
			continue
		case ev.Deleted:
			delete(v.told, ch.Key)
		default:
			v.told[ch.Key] = sum
		}
		changes = append(changes, pending{ch, !known})
	}
	v.put(false, changes)
}

// reached records the revision of an event, and the put.
func (v *View) reached(last Change) {
	v.mu.Lock()
	v.identity.Revision = max(v.identity.Revision, last.Revision)
	if !last.Deleted {
		v.identity.Put, v.identity.PutRevision = last.Key, last.Revision
	}
	v.mu.Unlock()
}

func (v *View) change(ev kv.Event) (kv.Change, uint64) {
	ch := kv.Change{Entry: kv.Entry{Key: strings.TrimPrefix(ev.Key, v.o.Prefix), Revision: ev.Revision}, Deleted: ev.Deleted, Inferred: ev.Inferred}
	if ev.Deleted {
		return ch, 0
	}
	ch.Value = v.o.Value(ev.Value)
	ch.Location = v.place
	return ch, maphash.Bytes(v.seed, ev.Value)
}

// put adds pending changes; all reports that they are the whole content.
func (v *View) put(all bool, changes []pending) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !all && len(changes) == 0 && !v.other {
		return
	}
	if all {
		v.resync = &kv.Update{Resync: true, Changes: bare(changes)}
		v.changes = nil
		clear(v.at)
	} else {
		for _, ch := range changes {
			v.wait(ch)
		}
	}
	select {
	case v.ready <- struct{}{}:
	default:
	}
}

// wait adds a pending change, or replaces the pending change of the same key.
func (v *View) wait(ch pending) {
	i, waits := v.at[ch.Key]
	if !waits {
		v.at[ch.Key] = len(v.changes)
		v.changes = append(v.changes, ch)
		return
	}
	if ch.fresh = v.changes[i].fresh; ch.fresh && ch.Deleted {
		delete(v.at, ch.Key) // created and deleted since; the receiver need not know
	}
	v.changes[i] = ch
}

// bare returns the pending changes without their state.
func bare(waiting []pending) []kv.Change {
	changes := make([]kv.Change, 0, len(waiting))
	for _, ch := range waiting {
		if !ch.Deleted || !ch.fresh {
			changes = append(changes, ch.Change)
		}
	}
	return changes
}

// take returns the next update.
func (v *View) take() (u kv.Update, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	other := v.other
	v.other = false
	if v.resync != nil {
		u, v.resync = *v.resync, nil
		u.Identity = v.identity
		return u, true
	}
	u.Identity = v.identity
	u.Changes, v.changes = bare(v.changes), nil
	clear(v.at)
	slices.SortStableFunc(u.Changes, func(a, b kv.Change) int { return cmp.Compare(a.Revision, b.Revision) })
	return u, len(u.Changes) > 0 || other
}
