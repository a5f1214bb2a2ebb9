package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/fairqueue"
)

// watched is a watched store.
type watched struct {
	name    string
	changes chan datasync.ChangeEvent
	resyncs chan datasync.ResyncEvent
	arrived chan struct{} // closed when its initial state is known

	known      bool     // its initial state is known; guarded by Plugin.mu
	incomplete []string // its unknown parts; guarded by Plugin.mu
	recalled   bool     // its complete state from before the restart is in effect until it is known
	kept       []byte   // its persistent state; guarded by Plugin.mu

	accepts      chan acceptance
	identity     kv.Identity // of the store whose content is in effect; guarded by Plugin.mu
	guard        *guarded    // nil: its content is followed; guarded by Plugin.mu
	guardedSince time.Time   // zero: its content is followed; guarded by Plugin.mu
	held         kv.Identity // of the store when it ceased to be followed; guarded by Plugin.mu
	places       []string    // configured when its content took effect, see kv.Evidence; guarded by Plugin.mu

	aliases   aliases                   // used by follow only
	unhandled unhandledKeys             // guarded by Plugin.mu
	receivers func(key string) []string // names of the plugins that watch a key; nil if unknown
}

func newWatched(name string) *watched {
	return &watched{
		name: name, changes: make(chan datasync.ChangeEvent), resyncs: make(chan datasync.ResyncEvent),
		arrived: make(chan struct{}), accepts: make(chan acceptance),
	}
}

// watch starts watching all enabled stores, and waiting for their initial
// state.
func (p *Plugin) watch() error {
	var all []*watched
	var regs []datasync.WatchRegistration
	for _, w := range flatten(p.Watcher) {
		if d, ok := w.(interface{ Disabled() bool }); ok && d.Disabled() {
			continue
		}
		s := newWatched(sourceName(w))
		if r, ok := w.(interface{ Receivers(key string) []string }); ok {
			s.receivers = r.Receivers
		}
		if r, ok := w.(kv.Rememberer); ok {
			r.Remember(p.recalled[s.name].Identity)
		}
		// All keys, not only keys of models: the others are counted.
		reg, err := w.Watch(p.String(), s.changes, s.resyncs)
		if err != nil {
			for _, r := range regs {
				_ = r.Close() // the first error is more useful
			}
			return fmt.Errorf("watch %s: %w", s.name, err)
		}
		regs, all = append(regs, reg), append(all, s)
	}
	all = append(all, p.recallStores(all)...)
	p.mu.Lock()
	p.stores = all
	p.mu.Unlock()
	p.tellHealth()
	for i, s := range all {
		p.Go(func(ctx context.Context) {
			p.follow(ctx, s)
			if i < len(regs) {
				_ = regs[i].Close() // the agent stops
			}
		})
	}
	p.Go(func(ctx context.Context) { p.synchronise(ctx, all) })
	return nil
}

func flatten(ws datasync.KVProtoWatchers) (flat []datasync.KeyValProtoWatcher) {
	for _, w := range ws {
		if more, ok := w.(datasync.KVProtoWatchers); ok {
			flat = append(flat, flatten(more)...)
			continue
		}
		flat = append(flat, w)
	}
	return flat
}

// keyPrefixes returns the prefixes of the models' keys ("config/").
func (p *Plugin) keyPrefixes() []string {
	prefixes := map[string]bool{}
	for _, m := range p.Codec.Models().All() {
		prefixes[m.Spec().Class+"/"] = true
	}
	return slices.Sorted(maps.Keys(prefixes))
}

// synchronise waits for the initial state of all stores, up to a timeout, and
// then synchronises everything once.
func (p *Plugin) synchronise(ctx context.Context, all []*watched) {
	timeout := time.NewTimer(p.cfg.InitialSyncTimeout)
	defer timeout.Stop()
	for _, s := range all {
		select {
		case <-s.arrived:
			continue
		default:
		}
		select {
		case <-s.arrived:
		case <-timeout.C:
			timeout.Reset(0) // the timeout has expired for the other stores, too
		case <-ctx.Done():
			return
		}
	}
	p.initialSync(ctx)
}

const initialSync = "initial synchronisation"

func (p *Plugin) initialSync(ctx context.Context) {
	turn, err := p.takeTurn(ctx, fairqueue.Request{Class: fairqueue.Source, What: initialSync})
	if err != nil {
		return // the agent stops
	}
	defer turn.End()
	defer p.turns.Open()
	defer close(p.synced)
	p.turns.Join()
	p.mu.Lock()
	gaps := p.gaps()
	p.begun, p.keeping = true, len(gaps) > 0
	effects, closed := p.store.all(), p.closed
	if closed {
		p.syncErr = ErrWithdrawn
	}
	p.mu.Unlock()
	if closed {
		return
	}
	p.tellGaps(gaps)
	p.tellHealth()
	err = p.commit(ctx, turn, effects, change{resync: true, keep: len(gaps) > 0, description: initialSync})
	p.mu.Lock()
	p.syncErr, p.ended = err, true
	sources := slices.Clone(p.store.sources)
	p.mu.Unlock()
	for _, s := range sources {
		p.noteChange(s.name, err)
	}
	p.tellFailures(err)
	p.tellHealth()
}

// follow applies the events of a store.
func (p *Plugin) follow(ctx context.Context, s *watched) {
	f := follower{p: p, s: s}
	for {
		var quiet <-chan time.Time
		if p.enough(s) {
			quiet = time.After(p.quietLift)
		}
		select {
		case <-ctx.Done():
			return
		case ev := <-s.resyncs:
			f.resync(ctx, ev)
		case ev := <-s.changes:
			f.change(ctx, ev)
		case a := <-s.accepts:
			p.acceptContent(s, slices.Concat(f.partial, f.missing), a)
		case <-quiet:
			if ch, ok := p.lift(s, slices.Concat(f.partial, f.missing)); ok {
				_, err := p.apply(ctx, ch)
				p.tellFailures(err)
				p.tellHealth()
			}
		}
	}
}

// follower applies the events of a store. It belongs to one goroutine.
type follower struct {
	p       *Plugin
	s       *watched
	once    sync.Once
	partial []string // the unknown parts of the store as of the last event
	missing []string // its rejected items
	// unknown are items from before the restart, with their places, which could not be read since.
	unknown map[string]string
}

func (f *follower) resync(ctx context.Context, ev datasync.ResyncEvent) {
	p, s := f.p, f.s
	f.partial = incomplete(ev)
	done, evidence := answer(ev), evidenceOf(ev)
	items, missing := p.readStore(s, p.configuration(s, resyncItems(ev), true), true)
	f.missing = missing
	ch := change{source: s.name, items: f.withUnknown(p.withPrevious(s, items)), resync: true, store: s, incomplete: slices.Concat(f.partial, f.missing)}
	p.screen(s, &ch, evidence, nil)
	joined, err := p.apply(ctx, ch)
	f.once.Do(func() {
		close(s.arrived)
		p.tellHealth()
	})
	if joined && err == nil {
		err = p.waitInitial(ctx, func(key string) bool { return p.has(s.name, key) })
	} else {
		p.tellFailures(err)
	}
	p.tellHealth()
	done(err)
}

// withPrevious adds the previous values of rejected items, which stay in effect.
func (p *Plugin) withPrevious(s *watched, items []KeyVal) []KeyVal {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, rejected := p.store.source(s.name).items, p.report(s.name).rejected
	if len(before) == 0 || len(rejected) == 0 {
		return items
	}
	present := keysOf(items)
	for key := range rejected {
		if old, known := before[key]; known && !present[key] {
			items = append(items, old.of(key))
		}
	}
	return items
}

// withUnknown adds the items of places that cannot be read, such as a file that was broken
// while the agent did not run: the items stay in effect.
func (f *follower) withUnknown(items []KeyVal) []KeyVal {
	f.unknown = map[string]string{}
	if len(f.partial) == 0 {
		return items
	}
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	present := keysOf(items)
	for key, old := range f.p.store.source(f.s.name).items {
		if place := old.location.Place(); !present[key] && f.isUnknown(place) {
			f.unknown[key] = place
			items = append(items, old.of(key))
		}
	}
	return items
}

// isUnknown reports whether a place cannot be read.
func (f *follower) isUnknown(place string) bool {
	return place != "" && slices.ContainsFunc(f.partial, func(dir string) bool { return covers(dir, place) })
}

// resolve adds deletions to the items of a change, and to the inferred keys: of unknown items
// whose place can be read now, and does not have them.
func (f *follower) resolve(items []KeyVal, inferred map[string]bool) []KeyVal {
	for _, it := range items {
		delete(f.unknown, it.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(f.unknown)) {
		if !f.isUnknown(f.unknown[key]) {
			delete(f.unknown, key)
			items = append(items, KeyVal{Key: key})
			inferred[key] = true
		}
	}
	return items
}

func (f *follower) change(ctx context.Context, ev datasync.ChangeEvent) {
	p, s := f.p, f.s
	config := p.configuration(s, changeItems(ev), false)
	evidence := evidenceOf(ev)
	if len(config) == 0 && slices.Equal(incomplete(ev), f.partial) && !p.isNews(s, evidence) {
		p.tellHealth()
		ev.Done(nil)
		return
	}
	f.partial = incomplete(ev)
	done, inferred := answer(ev), inferredOf(config)
	s.aliases.addInferred(inferred)
	items, missing := p.readStore(s, config, false)
	s.aliases.addInferred(inferred)
	f.missing = missing
	ch := change{source: s.name, items: f.resolve(items, inferred), store: s, incomplete: slices.Concat(f.partial, f.missing)}
	p.screen(s, &ch, evidence, inferred)
	_, err := p.apply(ctx, ch)
	p.tellFailures(err)
	p.tellHealth()
	done(err)
}

// answer returns Done of an event, if possible without the event: its values need not be
// in memory until they are applied.
func answer(ev interface{ Done(err error) }) func(err error) {
	if a, ok := ev.(datasync.Answerable); ok {
		return a.Answer()
	}
	return ev.Done
}

// has reports whether the source of a name has an item for a key.
func (p *Plugin) has(name, key string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.ContainsFunc(p.store.sources, func(src *source) bool {
		_, ok := src.items[key]
		return ok && src.name == name
	})
}

// incoming is an item as a store sent it.
type incoming struct {
	datasync.KeyVal
	deleted bool
}

// disputed reports that the store has several values for the key.
func (i incoming) disputed() bool {
	d, ok := i.KeyVal.(datasync.Disputable)
	return ok && d.Disputed()
}

func resyncItems(ev datasync.ResyncEvent) (items []incoming) {
	for _, values := range ev.GetValues() {
		for kv := range values {
			items = append(items, incoming{KeyVal: kv})
		}
	}
	return items
}

func changeItems(ev datasync.ChangeEvent) (items []incoming) {
	changes := ev.GetChanges()
	items = make([]incoming, 0, len(changes))
	for _, ch := range changes {
		items = append(items, incoming{ch, ch.GetChangeType() == datasync.Delete})
	}
	return items
}

// read decodes the items. It omits invalid items, so that the rest takes
// effect.
func (p *Plugin) read(source string, in []incoming) (items []storeItem, rejected []Rejected) {
	all, errs := make([]storeItem, len(in)), make([]error, len(in))
	inParallel(len(in), func(i int) { all[i], errs[i] = p.readItem(in[i]) })
	items = all[:0]
	for i, kv := range all {
		if in[i].disputed() {
			kv.KeyVal, errs[i] = p.keepDisputed(source, kv.KeyVal, errs[i])
		}
		if errs[i] != nil {
			rejected = append(rejected, Rejected{Key: kv.stored, Location: kv.Location.Text(kv.stored), Err: errs[i]})
			continue
		}
		items = append(items, kv)
	}
	return items, rejected
}

// keepDisputed returns the present item of a source for a key with several
// values, or else the one that the store chose.
func (p *Plugin) keepDisputed(source string, chosen KeyVal, err error) (KeyVal, error) {
	p.mu.Lock()
	old, ok := p.store.source(source).items[chosen.Key]
	p.mu.Unlock()
	if !ok {
		p.Log.Warn("a key has several values; using one of them", "source", source, "key", chosen.Key, "location", chosen.Location.Text(chosen.Key))
		return chosen, err
	}
	p.Log.Warn("a key has several values; its previous value stays in effect", "source", source, "key", chosen.Key, "location", old.location.Text(chosen.Key))
	return old.of(chosen.Key), nil
}

func (p *Plugin) readItem(i incoming) (it storeItem, err error) {
	it.stored = i.GetKey()
	it.Key = it.stored
	if l, ok := i.KeyVal.(datasync.Located); ok {
		it.Location = l.Location()
	}
	if i.deleted {
		return it, nil
	}
	if it.Val, err = p.decode(i); err != nil {
		return it, err
	}
	model, ok := p.Codec.Models().ForStoredKey(it.stored)
	if !ok {
		return it, fmt.Errorf("key %s: no model has such keys", it.stored)
	}
	real, err := model.KeyOf(it.Val)
	switch {
	case err != nil:
		return it, fmt.Errorf("key %s: %w", it.stored, err)
	case !model.Matches(real):
		return it, fmt.Errorf("key %s: the item has no name; expected the fields that make up its key %s<name>", it.stored, model.KeyPrefix())
	}
	it.Key = real
	if field := p.Codec.HiddenField(it.Val); field != "" {
		return it, fmt.Errorf("key %s: %s: %s", it.stored, field, document.HiddenText)
	}
	return it, nil
}

func (p *Plugin) decode(i incoming) (proto.Message, error) {
	if d, ok := i.KeyVal.(datasync.Decoded); ok {
		if m := d.Message(); m != nil {
			return m, nil
		}
	}
	model, ok := p.Codec.Models().ForStoredKey(i.GetKey())
	if !ok {
		return nil, fmt.Errorf("key %s: no model has such keys%s", i.GetKey(), p.didYouMean(i.GetKey()))
	}
	msg := model.NewInstance()
	if err := i.GetValue(msg); err != nil {
		return nil, fmt.Errorf("key %s: decode the value: %w", i.GetKey(), err)
	}
	return msg, nil
}
