package descriptor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
)

// What the kernel has in the namespace of the agent, its own or not, is reported
// to the scheduler as values from the southbound: links that are administratively
// up, addresses, memberships in VRFs. Items that need interfaces which they do not
// make depend on these. The carrier of a link does not matter: it changes with the
// peer, and objects attached to the link stay.
//
// An event of the kernel makes the watcher read the state again, and it reports
// that state, so that lost, repeated or reordered events do no harm. A link that
// is set down is believed only after a moment, because renaming and moving a link
// take it down for an instant; a link that is gone is believed at once.

// WatcherName is the name of the descriptor of what the kernel has.
const WatcherName = "linux-interface-watcher"

const (
	// downDelay is how long a link must be down to be reported as down.
	downDelay = 10 * time.Millisecond
	// longestPause limits the pause after the state was read.
	longestPause = 500 * time.Millisecond
	// retryDelay is the pause before watching again after it failed.
	retryDelay = 200 * time.Millisecond
)

// Watcher reports what the kernel has. Run it.
type Watcher struct {
	deps   Deps
	notify func(notifications ...api.KVWithMetadata) error
	links  LinksFunc                           // of OnLinks; nil: ignored
	event  func(netlinkapi.Event) (links bool) // of OnEvents
	missed func()                              // of OnEvents
	settle func(context.Context) error         // of Settle

	mu   sync.Mutex           // held while the state is read and told
	told map[string]string    // keys that were reported, with the links that they are about
	read map[string]bool      // keys that the scheduler read by itself, not told yet
	down map[string]time.Time // links that were set down, since when
	wake chan struct{}        // has a token while the state must be read again

	names atomic.Pointer[map[string]bool] // links that exist, as they were read last; nil: not yet
}

// NewWatcher returns a watcher that reports to notify; see
// api.Notifier.PushSBNotification.
func NewWatcher(deps Deps, notify func(...api.KVWithMetadata) error) *Watcher {
	return &Watcher{
		deps: deps, notify: notify,
		event: func(netlinkapi.Event) bool { return true }, missed: func() {}, settle: func(context.Context) error { return nil },
		told: map[string]string{}, read: map[string]bool{}, down: map[string]time.Time{}, wake: make(chan struct{}, 1),
	}
}

// LinksFunc gets all links and addresses of a namespace, and a handle on it that is open during the
// call.
type LinksFunc func(ctx context.Context, h netlinkapi.Handle, links []netlinkapi.Link, addrs []netlinkapi.Address)

// OnLinks lets f see all links and addresses whenever they were read because something may
// have changed. It must be called before Run.
func (w *Watcher) OnLinks(f LinksFunc) { w.links = f }

// OnEvents lets event see all events; it returns whether the links have to be read
// because of one. missed is called when events may have been missed. It must be called
// before Run.
func (w *Watcher) OnEvents(event func(netlinkapi.Event) (links bool), missed func()) {
	w.event, w.missed = event, missed
}

// Settle makes the watcher wait for f before it believes that a link is down: a transaction of the agent
// may set it down for a while, as VPP does when it deletes an AF_PACKET interface. It must be called
// before Run.
func (w *Watcher) Settle(f func(context.Context) error) { w.settle = f }

// Look makes Run read the state again.
func (w *Watcher) Look() { w.signal() }

// Descriptor returns the descriptor linux-interface-watcher.
func (w *Watcher) Descriptor() *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*emptypb.Empty, any]{
		Name:            WatcherName,
		Southbound:      nsmodel.Southbound,
		KeySelector:     func(key string) bool { return strings.HasPrefix(key, ifmodel.HostInterfaceKey.Prefix()) },
		KeyLabel:        func(key string) string { return strings.TrimPrefix(key, ifmodel.HostInterfaceKey.Prefix()) },
		RetrieveContext: w.retrieve,
		Absent:          w.absent,
	})
}

// absent explains a missing key: the link does not exist, or is down.
func (w *Watcher) absent(key string) string {
	host, ok := ifmodel.ParseHostInterfaceKey(key)
	names := w.names.Load()
	switch {
	case !ok || names == nil:
		return ""
	case (*names)[host]:
		return fmt.Sprintf("link %[1]q exists but is down; \"ip link set %[1]s up\" sets it up", host)
	}
	return fmt.Sprintf("there is no link %q in the network namespace of the agent", host)
}

func (w *Watcher) retrieve(ctx context.Context, _ []api.KV[*emptypb.Empty, any]) ([]api.KV[*emptypb.Empty, any], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := w.state(ctx, nil)
	if err != nil {
		return nil, err
	}
	// The previous report may reach the scheduler after this one, so all differences
	// between the two are reported again.
	for key := range w.told {
		if now.keys[key] == "" {
			delete(w.told, key)
			w.read[key] = true
		}
	}
	clear(w.down)
	w.signal()
	kvs := make([]api.KV[*emptypb.Empty, any], 0, len(now.keys))
	for key := range now.keys {
		w.read[key] = w.read[key] || w.told[key] == ""
		kvs = append(kvs, api.KV[*emptypb.Empty, any]{Key: key, Value: &emptypb.Empty{}, Origin: api.FromSB})
	}
	slices.SortFunc(kvs, func(a, b api.KV[*emptypb.Empty, any]) int { return strings.Compare(a.Key, b.Key) })
	return kvs, nil
}

// state is what the kernel has: keys with the links that they are about, and the
// names of all links.
type state struct {
	keys  map[string]string
	links map[string]bool
}

// state reads what the kernel has; see sees it, too, unless it is nil.
func (w *Watcher) state(ctx context.Context, see LinksFunc) (state, error) {
	h, err := w.deps.Namespaces.Open(ctx, nil)
	if err != nil {
		return state{}, err
	}
	defer closeHandle(h)
	links, err := h.Links(ctx)
	if err != nil {
		return state{}, err
	}
	addrs, err := h.Addresses(ctx)
	if err != nil {
		return state{}, err
	}
	if see != nil {
		see(ctx, h, links, addrs)
	}
	s := state{map[string]string{}, map[string]bool{}}
	names := map[int]string{}
	for _, l := range links {
		names[l.Index] = l.Name
		s.links[l.Name] = true
		if l.Up {
			s.keys[ifmodel.HostInterfaceKey.Key(l.Name)] = l.Name
		}
	}
	for _, l := range links {
		if vrf := names[l.Master]; vrf != "" && slices.ContainsFunc(links, func(m netlinkapi.Link) bool {
			return m.Index == l.Master && m.Kind == netlinkapi.KindVRF
		}) {
			s.keys[ifmodel.HostVrfKey.Key(l.Name, vrf)] = l.Name
		}
	}
	for _, a := range addrs {
		if name := names[a.Link]; name != "" {
			s.keys[ifmodel.HostAddressKeyFor(name, a.Prefix.String())] = name
		}
	}
	w.names.Store(&s.links)
	return s, nil
}

// Run watches until the context ends. Whatever goes wrong is tried again.
func (w *Watcher) Run(ctx context.Context) {
	events := make(chan struct{})
	go func() {
		defer close(events)
		w.follow(ctx)
	}()
	w.tell(ctx)
	<-events
}

// follow wakes tell for every event of the kernel.
func (w *Watcher) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.followOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		w.deps.Log.Warn("changes in the network namespace of the agent were missed; the state is read again", "error", err)
		pause(ctx, retryDelay)
	}
}

func (w *Watcher) followOnce(ctx context.Context) error {
	h, err := w.deps.Namespaces.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer closeHandle(h)
	ready := func() {
		w.missed()
		w.signal()
	}
	return h.Watch(ctx, ready, func(e netlinkapi.Event) {
		if w.event(e) {
			w.signal()
		}
	})
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// tell reads the state whenever it is woken and reports what changed.
func (w *Watcher) tell(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		if w.anyDown() && w.settle(ctx) != nil {
			return // the agent ends
		}
		started := time.Now()
		again, err := w.compare(ctx, started)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.deps.Log.Warn("state of links was not read", "error", err)
			again = retryDelay
		}
		if again > 0 {
			timer.Reset(again)
		}
		// With very many links reading takes long, and the kernel changes none meanwhile; leave
		// time for others.
		if took := time.Since(started); took > downDelay {
			pause(ctx, min(4*took, longestPause))
		}
	}
}

// compare reports what changed; again is when to compare again although nothing
// new happened, if above 0.
func (w *Watcher) compare(ctx context.Context, at time.Time) (again time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := w.state(ctx, w.links)
	if err != nil {
		return 0, err
	}
	var changes []api.KVWithMetadata
	for key, link := range now.keys {
		if w.told[key] == "" {
			w.told[key] = link
			changes = append(changes, notification(key, &emptypb.Empty{}))
		}
		if key == ifmodel.HostInterfaceKey.Key(link) {
			delete(w.down, link)
		}
	}
	for key, link := range w.told {
		if now.keys[key] != "" {
			continue
		}
		if key == ifmodel.HostInterfaceKey.Key(link) && now.links[link] {
			if wait := w.stillDown(link, at); wait > 0 {
				again = max(again, wait)
				continue
			}
		}
		delete(w.told, key)
		delete(w.down, link)
		changes = append(changes, notification(key, nil))
	}
	for key, untold := range w.read {
		if untold && now.keys[key] == "" {
			changes = append(changes, notification(key, nil))
		}
	}
	clear(w.read)
	if len(changes) == 0 {
		return again, nil
	}
	slices.SortFunc(changes, func(a, b api.KVWithMetadata) int { return strings.Compare(a.Key, b.Key) })
	return again, w.notify(changes...)
}

// anyDown reports whether there are links that were set down and are not reported as down yet.
func (w *Watcher) anyDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.down) > 0
}

// stillDown returns how long to wait until a link that is down is believed to be.
func (w *Watcher) stillDown(link string, at time.Time) time.Duration {
	since, known := w.down[link]
	if !known {
		w.down[link] = at
		return downDelay
	}
	return downDelay - at.Sub(since)
}

func notification(key string, value proto.Message) api.KVWithMetadata {
	return api.KVWithMetadata{Key: key, Value: value, Origin: api.FromSB}
}
