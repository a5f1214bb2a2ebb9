package keyval

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// NewWatcher returns a watcher. It calls store for each watch, because a connector has no
// store before its Init.
func NewWatcher(store func() Store, keyPrefix string) ProtoWatcher {
	return &watcher{store, keyPrefix}
}

type watcher struct {
	store  func() Store
	prefix string
}

func (w *watcher) Watch(respChan func(ProtoWatchResp), closeChan chan string, keys ...string) error {
	s := w.store()
	if s.DB == nil {
		return fmt.Errorf("watch %s: %w", w.prefix, kv.ErrDisabled)
	}
	if len(keys) == 0 {
		return fmt.Errorf("watch %s: expected at least one key", w.prefix)
	}
	watches := make([]*watch, len(keys))
	for i, key := range keys {
		ctx, cancel := context.WithCancel(s.Context)
		watches[i] = &watch{key: key, ctx: ctx, cancel: cancel, report: respChan, ready: make(chan struct{}), known: map[string]kv.Entry{}}
	}
	var open atomic.Int64
	open.Store(int64(len(watches)))
	ended := make(chan struct{}) // closed after the last watch
	for _, one := range watches {
		s.Go(func(context.Context) {
			_ = s.Watch(one.ctx, w.prefix+one.key, one.handle) // it ends with the context
			if open.Add(-1) == 0 {
				close(ended)
			}
		})
	}
	s.Go(func(ctx context.Context) { closeAll(ctx, watches, closeChan, ended) })
	timeout := time.NewTimer(s.Timeout)
	defer timeout.Stop()
	for _, one := range watches {
		select {
		case <-one.ready:
		case <-one.ctx.Done():
		case <-timeout.C:
			for _, late := range watches {
				late.reportContent()
			}
			return nil
		}
	}
	return nil
}

// closeAll ends watches when closeChan says so.
func closeAll(ctx context.Context, watches []*watch, closeChan chan string, ended chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case key, more := <-closeChan:
			for _, one := range watches {
				if !more || one.key == key {
					one.cancel()
				}
			}
			if !more {
				return
			}
		}
	}
}

type watch struct {
	key    string
	ctx    context.Context
	cancel context.CancelFunc
	report func(ProtoWatchResp)
	ready  chan struct{} // closed when the content is known
	known  map[string]kv.Entry

	mu      sync.Mutex
	content bool // report the first content
	begun   bool // the first content was received
}

// reportContent makes the first content be reported, unless it is known.
func (w *watch) reportContent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.content = true
}

// first reports whether an update is the first content, and is not to be reported.
func (w *watch) first() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		return false
	}
	w.begun = true
	close(w.ready)
	return !w.content
}

func (w *watch) handle(u kv.Update) error {
	silent := w.first()
	present := make(map[string]bool, len(u.Changes))
	for _, ch := range u.Changes {
		present[ch.Key] = true
		if !u.Resync || !unchanged(w.known[ch.Key], ch.Entry) {
			w.apply(&ch, silent)
		}
	}
	if !u.Resync {
		return nil
	}
	for key := range w.known {
		if !present[key] {
			w.apply(&kv.Change{Entry: kv.Entry{Key: key}, Deleted: true}, silent)
		}
	}
	return nil
}

// unchanged reports whether an entry of the whole content is the known one.
func unchanged(known, now kv.Entry) bool {
	if known.Revision != 0 {
		return known.Revision == now.Revision
	}
	before, isText := known.Value.(kv.Encoded)
	text, same := now.Value.(kv.Encoded)
	return isText && same && bytes.Equal(before, text)
}

// apply notes a change and reports it.
func (w *watch) apply(ch *kv.Change, silent bool) {
	c := &change{ctx: w.ctx, prev: w.known[ch.Key].Value, keyVal: keyVal{key: w.key + ch.Key, revision: ch.Revision, value: ch.Value}}
	if ch.Deleted {
		c.value = nil
		delete(w.known, ch.Key)
	} else {
		w.known[ch.Key] = ch.Entry
	}
	if !silent && w.ctx.Err() == nil {
		w.report(c)
	}
}

// change implements ProtoWatchResp.
type change struct {
	keyVal
	ctx  context.Context // of the watch
	prev kv.Value        // nil: none is known
}

func (c *change) GetChangeType() datasync.Op {
	if c.value == nil {
		return datasync.Delete
	}
	return datasync.Put
}

func (c *change) GetPrevValue(into proto.Message) (bool, error) {
	if c.prev == nil {
		return false, nil
	}
	return true, c.prev.Decode(into)
}
