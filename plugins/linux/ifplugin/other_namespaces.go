package ifplugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// What did not work is tried again after firstRetry, then after twice as long, up
// to maxRetry.
const (
	firstRetry = 200 * time.Millisecond
	maxRetry   = 5 * time.Second
)

// Looks that took longLook are followed by a pause.
const (
	longLook     = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// elsewhere follows the interfaces of the configuration that are in other
// namespaces than the agent's own. It listens in that one alone, because a listener
// in a namespace keeps it alive after its owner has removed it. The others are
// opened for a look when something in them has changed. While the configuration
// names no other namespace it does not listen; what is heard of namespaces that the
// configuration does not name is dropped.
type elsewhere struct {
	namespaces nsplugin.API
	states     *States
	removals   *removals
	log        logging.Logger

	mu      sync.Mutex
	known   map[int]map[string]*namespace.NetNamespace // that were looked at, by their number and nsmodel.Text
	changed map[string]*namespace.NetNamespace         // to be looked at
	wake    chan struct{}                              // has a token while there are some
}

func newElsewhere(namespaces nsplugin.API, states *States, lost *removals, log logging.Logger) *elsewhere {
	return &elsewhere{
		namespaces: namespaces, states: states, removals: lost, log: log,
		known: map[int]map[string]*namespace.NetNamespace{}, changed: map[string]*namespace.NetNamespace{}, wake: make(chan struct{}, 1),
	}
}

// Look makes Run look at a namespace that has interfaces of the configuration.
func (e *elsewhere) Look(ns *namespace.NetNamespace) {
	if nsmodel.IsOwn(ns) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.note(ns)
}

func (e *elsewhere) note(ns *namespace.NetNamespace) {
	e.changed[nsmodel.Text(ns)] = ns
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run follows until the context ends. Whatever goes wrong is tried again.
func (e *elsewhere) Run(ctx context.Context) {
	stop := func() {} // listening
	defer func() { stop() }()
	listening := false
	pause, timer := firstRetry, (<-chan time.Time)(nil)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case <-timer:
		}
		if used := e.inUse(); used != listening {
			stop()
			stop, listening = func() {}, used
			if used {
				stop = e.startListening(ctx)
			}
		}
		started := time.Now()
		if e.lookAll(ctx) {
			pause, timer = firstRetry, nil
			e.leaveTime(ctx, time.Since(started))
			continue
		}
		timer = time.After(pause)
		pause = min(2*pause, maxRetry)
	}
}

// leaveTime waits after looks that took long: while links are read the kernel changes none.
func (e *elsewhere) leaveTime(ctx context.Context, took time.Duration) {
	if took < longLook {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(4*took, longestPause)):
	}
}

// inUse returns whether a value of the configuration is in another namespace.
func (e *elsewhere) inUse() bool {
	if e.removals.uses(func(ns *namespace.NetNamespace) bool { return !nsmodel.IsOwn(ns) }) {
		return true
	}
	for _, meta := range e.states.index.All() {
		if !nsmodel.IsOwn(meta.Namespace) {
			return true
		}
	}
	return false
}

// startListening listens until stop is called, which waits for the end.
func (e *elsewhere) startListening(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { e.listen(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// listen notes in which namespaces something changes.
func (e *elsewhere) listen(ctx context.Context) {
	pause, told := firstRetry, ""
	for ctx.Err() == nil {
		started := time.Now()
		err := e.listenOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > maxRetry {
			pause, told = firstRetry, ""
		}
		if text := fmt.Sprint(err); text != told { // what lasts, such as a missing capability, is reported once
			e.log.Warn("changes in other network namespaces were missed; their state is read again", "error", err)
			told = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxRetry)
	}
}

func (e *elsewhere) listenOnce(ctx context.Context) error {
	own, err := e.namespaces.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer closeHandle(own)
	return own.WatchOthers(ctx, e.noteAll, e.noteEvent)
}

// noteAll has everything looked at, since events may have been missed.
func (e *elsewhere) noteAll() {
	e.mu.Lock()
	known := e.known
	e.known = map[int]map[string]*namespace.NetNamespace{} // so that each is new to look
	for _, all := range known {
		for _, ns := range all {
			e.note(ns)
		}
	}
	e.mu.Unlock()
}

func (e *elsewhere) noteEvent(number int, event netlinkapi.Event) {
	e.mu.Lock()
	spaces := slices.Collect(maps.Values(e.known[number]))
	e.mu.Unlock()
	for _, ns := range spaces {
		if e.removals.event(ns, event) {
			e.Look(ns)
		}
	}
}

// lookAll looks at what has changed; it is false if some of it has to be tried
// again.
func (e *elsewhere) lookAll(ctx context.Context) bool {
	e.mu.Lock()
	changed := e.changed
	e.changed = map[string]*namespace.NetNamespace{}
	e.mu.Unlock()
	done := true
	for text, ns := range changed {
		if err := e.look(ctx, text, ns); err != nil {
			e.log.Warn("interfaces in a namespace were not looked at", "namespace", text, "error", err)
			e.mu.Lock()
			if e.changed[text] == nil {
				e.changed[text] = ns
			}
			e.mu.Unlock()
			done = false
		}
	}
	return done
}

// look reads the links and addresses of a namespace. It is known before it is read, so that no
// change is missed.
func (e *elsewhere) look(ctx context.Context, text string, ns *namespace.NetNamespace) error {
	used := false
	err := e.read(ctx, text, ns, func(ctx context.Context, h netlinkapi.Handle, links []netlinkapi.Link, addrs []netlinkapi.Address) {
		used = e.states.look(ctx, ns, h, links, addrs)
	})
	if errors.Is(err, netlinkapi.ErrNamespaceGone) {
		used = e.states.look(ctx, ns, nil, nil, nil)
	} else if err != nil {
		return err
	}
	used = used || e.removals.uses(func(other *namespace.NetNamespace) bool { return nsmodel.Equal(ns, other) })
	if !used || err != nil {
		e.forget(text, noNumber)
	}
	return nil
}

// read calls see with the links and addresses of a namespace.
func (e *elsewhere) read(ctx context.Context, text string, ns *namespace.NetNamespace, see descriptor.LinksFunc) error {
	own, err := e.namespaces.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer closeHandle(own)
	h, err := e.namespaces.Peek(ctx, ns)
	if err != nil {
		return err
	}
	defer closeHandle(h)
	number, err := own.Number(ctx, h)
	if err != nil {
		return err
	}
	if e.know(number, text, ns) {
		e.removals.missed(ns)
	}
	links, err := h.Links(ctx)
	if err != nil {
		return err
	}
	addrs, err := h.Addresses(ctx)
	if err == nil {
		see(ctx, h, links, addrs)
	}
	return err
}

// noNumber is the number of no namespace.
const noNumber = math.MinInt

// know remembers the number of a namespace, and returns whether it is new. A name may have
// come to stand for another namespace.
func (e *elsewhere) know(number int, text string, ns *namespace.NetNamespace) (fresh bool) {
	e.forget(text, number)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known[number] == nil {
		e.known[number] = map[string]*namespace.NetNamespace{}
	}
	fresh = e.known[number][text] == nil
	e.known[number][text] = ns
	return fresh
}

// forget forgets a namespace under all numbers but one.
func (e *elsewhere) forget(text string, but int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for number, all := range e.known {
		if number == but {
			continue
		}
		if delete(all, text); len(all) == 0 {
			delete(e.known, number)
		}
	}
}

// closeHandle closes a handle that nothing was changed with.
func closeHandle(h netlinkapi.Handle) { _ = h.Close() }
