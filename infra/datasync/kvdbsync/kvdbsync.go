// Package kvdbsync is the plugin between a key-value store and the plugins that
// receive configuration from it. It turns the content of the store below the
// agent's prefix into datasync events.
package kvdbsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// ErrNotWritable is returned by Put if the store is read-only or disabled.
var ErrNotWritable = errors.New("the store is read-only or disabled")

// Plugin watches one store and publishes to it.
type Plugin struct {
	Deps

	mu      sync.Mutex
	watches map[*watch]string // names of the receivers
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	KvPlugin     kv.Store
	ServiceLabel servicelabel.ReaderAPI
	// Decrypter decrypts encrypted values; nil disables decryption.
	Decrypter Decrypter `optional:"true"`
}

// Decrypter decrypts values, as the cryptodata plugin does.
type Decrypter interface {
	// Reveal returns a value that decrypts itself when it is decoded.
	Reveal(v kv.Value) kv.Value
}

var (
	_ datasync.KeyValProtoWatcher = (*Plugin)(nil)
	_ datasync.KeyProtoValWriter  = (*Plugin)(nil)
)

// Init does nothing: the plugin does not follow the store until Watch is
// called.
func (p *Plugin) Init() error { return nil }

// Disabled reports that the store is not configured; no events will be sent.
func (p *Plugin) Disabled() bool { return p.KvPlugin.Disabled() }

// Source returns the name of the store ("filedb"), which identifies its
// values.
func (p *Plugin) Source() string { return p.KvPlugin.String() }

// Refused returns the error of a value that the store contains but rejects;
// nil if there is none.
func (p *Plugin) Refused(key string) error {
	if r, ok := p.KvPlugin.(kv.Refuser); ok {
		return r.Refused(key)
	}
	return nil
}

// Remember implements kv.Rememberer.
func (p *Plugin) Remember(last kv.Identity) {
	if r, ok := p.KvPlugin.(kv.Rememberer); ok {
		r.Remember(last)
	}
}

// Put stores the value of a key of this agent; nil removes it.
func (p *Plugin) Put(key string, value proto.Message, opts ...datasync.PutOption) error {
	w, err := p.writer("put", key)
	if err != nil {
		return err
	}
	return w.Put(p.ServiceLabel.GetAgentPrefix()+key, value, opts...)
}

// Delete removes the value of a key of this agent, or with WithPrefix all
// values whose keys begin with it, and reports whether there was any.
func (p *Plugin) Delete(key string, opts ...datasync.DelOption) (existed bool, err error) {
	w, err := p.writer("delete", key)
	if err != nil {
		return false, err
	}
	return w.Delete(p.ServiceLabel.GetAgentPrefix()+key, opts...)
}

func (p *Plugin) writer(what, key string) (kv.Writer, error) {
	w, ok := p.KvPlugin.(kv.Writer)
	if !ok || p.Disabled() {
		return nil, fmt.Errorf("%s: %s %s: %w", p.KvPlugin, what, key, ErrNotWritable)
	}
	return w, nil
}

// Watch sends the content below the agent's prefix and its changes, limited to
// keyPrefixes if there are any. It sends nothing if the store is disabled.
func (p *Plugin) Watch(name string, changes chan<- datasync.ChangeEvent, resyncs chan<- datasync.ResyncEvent,
	keyPrefixes ...string) (datasync.WatchRegistration, error) {
	if len(keyPrefixes) == 0 {
		keyPrefixes = []string{""}
	}
	ctx, cancel := context.WithCancel(p.Context())
	w := &watch{prefixes: keyPrefixes, changes: changes, resyncs: resyncs, ctx: ctx, cancel: cancel, ended: make(chan struct{})}
	if p.Decrypter != nil {
		w.reveal = p.Decrypter.Reveal
	}
	if p.Disabled() {
		close(w.ended)
		return w, nil
	}
	p.add(w, name)
	p.Go(func(context.Context) {
		defer close(w.ended)
		defer p.remove(w)
		err := p.KvPlugin.Watch(ctx, p.ServiceLabel.GetAgentPrefix(), w.handle)
		if err != nil && ctx.Err() == nil {
			p.Log.Error("stopped following the store", "store", p.KvPlugin.String(), "receiver", name, "error", err)
			p.Health.Failed("stopped following the store", err)
		}
	})
	return w, nil
}

func (p *Plugin) add(w *watch, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches == nil {
		p.watches = map[*watch]string{}
	}
	p.watches[w] = name
}

func (p *Plugin) remove(w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watches, w)
}

// Receivers returns the names of the receivers (see Watch) of a key's changes, in
// any order.
func (p *Plugin) Receivers(key string) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w, name := range p.watches {
		if _, ok := w.prefixOf(key); ok {
			names = append(names, name)
		}
	}
	return names
}

// watch is one receiver.
type watch struct {
	prefixes []string
	changes  chan<- datasync.ChangeEvent
	resyncs  chan<- datasync.ResyncEvent
	ctx      context.Context // of the watch; passed to its events
	cancel   context.CancelFunc
	ended    chan struct{}
	reveal   func(kv.Value) kv.Value // nil: values are not encrypted

	// Of the last event; only for handle.
	incomplete []string
	evidence   kv.Evidence
}

func (w *watch) Close() error {
	w.cancel()
	<-w.ended
	return nil
}

// handle sends an update and waits until it is applied.
func (w *watch) handle(u kv.Update) error {
	ev := event{ctx: w.ctx, done: make(chan error, 1), incomplete: u.Incomplete, evidence: u.Evidence}
	news := !slices.Equal(u.Incomplete, w.incomplete) || !slices.Equal(u.Emptied, w.evidence.Emptied) ||
		!maps.Equal(u.Doubtful, w.evidence.Doubtful) || w.evidence.Identity.Differs(u.Identity)
	w.incomplete, w.evidence = u.Incomplete, u.Evidence
	if u.Resync {
		return send(w.ctx, w.resyncs, datasync.ResyncEvent(resync{ev, w.sort(u)}), ev.done)
	}
	c := change{event: ev, changes: make([]datasync.ProtoWatchResp, 0, len(u.Changes))}
	for i := range u.Changes {
		ch := &u.Changes[i]
		if _, ok := w.prefixOf(ch.Key); ok {
			c.changes = append(c.changes, w.keyVal(ch))
		}
	}
	if len(c.changes) == 0 && !news {
		return nil
	}
	return send(w.ctx, w.changes, datasync.ChangeEvent(c), ev.done)
}

func send[E any](ctx context.Context, to chan<- E, ev E, done <-chan error) error {
	select {
	case to <- ev:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sort groups the entries of a resync by prefix.
func (w *watch) sort(u kv.Update) map[string][]datasync.KeyVal {
	sorted := make(map[string][]datasync.KeyVal, len(w.prefixes))
	for _, p := range w.prefixes {
		sorted[p] = nil
	}
	for i := range u.Changes {
		ch := &u.Changes[i]
		if p, ok := w.prefixOf(ch.Key); ok && !ch.Deleted {
			sorted[p] = append(sorted[p], w.keyVal(ch))
		}
	}
	return sorted
}

func (w *watch) keyVal(ch *kv.Change) keyVal {
	if w.reveal != nil && !ch.Deleted {
		ch.Value = w.reveal(ch.Value)
	}
	return keyVal{ch}
}

func (w *watch) prefixOf(key string) (string, bool) {
	for _, p := range w.prefixes {
		if strings.HasPrefix(key, p) {
			return p, true
		}
	}
	return "", false
}
