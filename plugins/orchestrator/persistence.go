package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/fairqueue"
)

// State persists the configuration of the sources across restarts; the
// scheduler implements it by its state-dir.
type State interface {
	// EachState calls f with the values stored by SaveState under a name, sorted by
	// key. The data is valid until f returns.
	EachState(name string, f func(key string, data []byte)) error
	// SaveState stores values under a name, atomically. With all, it drops
	// previous values that are not in put. A nil value deletes its key.
	SaveState(name string, put map[string][]byte, all bool) error
	// KeepsState reports whether values are persisted.
	KeepsState() bool
}

// The keys under stateName.
const (
	stateName   = "northbound"
	itemPrefix  = "item\x00"    // + source + \x00 + key: a keptItem
	storePrefix = "store\x00"   // + source: a keptStore; clients have none
	confirmKey  = "unconfirmed" // a keptChange
)

// saveRetry is the delay before a failed write is retried.
const saveRetry = 10 * time.Second

// keptStore is the persistent state of a source that is a store.
type keptStore struct {
	Complete bool        `json:"complete"`          // all of its content was known
	Identity kv.Identity `json:"identity,omitzero"` // of the store whose content is in effect
	// Guarded is when the store ceased to be followed; zero if it is followed.
	Guarded time.Time   `json:"guarded,omitzero"`
	Held    kv.Identity `json:"held,omitzero"` // of the store then
	// Places are the configured places of the store whose content is in effect.
	Places []string `json:"places,omitempty"`
}

// recall restores the configuration of the sources from before the restart.
func (p *Plugin) recall() error {
	if p.State == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	items := 0
	var change []byte
	var batch []storedItem
	err := p.State.EachState(stateName, func(place string, data []byte) {
		switch source, key, ok := itemPlace(place); {
		case ok:
			if batch = append(batch, storedItem{source, key, slices.Clone(data)}); len(batch) == recalledAtOnce {
				items += p.recallItems(batch)
				batch = batch[:0]
			}
		case strings.HasPrefix(place, storePrefix):
			p.recallStore(place[len(storePrefix):], data)
		case place == confirmKey:
			change = slices.Clone(data)
		}
	})
	if err != nil {
		return fmt.Errorf("restore the configuration of the sources: %w", err)
	}
	if items += p.recallItems(batch); items > 0 {
		p.Log.Info("restored the configuration from before the restart; it is in effect until the sources report their state", "items", items)
	}
	return p.recallUnconfirmed(change)
}

// recallStore restores the state of a source that is a store. The lock is held.
func (p *Plugin) recallStore(source string, data []byte) {
	var st keptStore
	if err := json.Unmarshal(data, &st); err != nil {
		p.Log.Warn("cannot read whether a store was complete", "source", source, "error", err)
	}
	p.recalled[source] = st
	p.store.source(source)
}

// storedItem is an item of a source as it was stored.
type storedItem struct {
	source, key string
	data        []byte
}

// recalledAtOnce is how many items are decoded at once. Only these are in memory in both
// forms.
const recalledAtOnce = 1 << 14

// recallItems restores items and returns their number, without those that are invalid. The
// lock is held.
func (p *Plugin) recallItems(batch []storedItem) (items int) {
	all, errs := make([]KeyVal, len(batch)), make([]error, len(batch))
	inParallel(len(batch), func(i int) { all[i], errs[i] = p.recallItem(batch[i].key, batch[i].data) })
	for i, it := range batch {
		if i > 0 {
			all[i].Location = all[i].Location.Sharing(all[i-1].Location)
		}
		if errs[i] != nil {
			p.Log.Warn("ignoring a stored item", "source", it.source, "error", errs[i])
			continue
		}
		p.store.source(it.source).items[it.key] = itemOf(all[i])
		items++
	}
	return items
}

// itemPlace returns the source and key of an item from its state key, if it is
// one.
func itemPlace(place string) (source, key string, ok bool) {
	rest, ok := strings.CutPrefix(place, itemPrefix)
	source, key, _ = strings.Cut(rest, "\x00")
	return source, key, ok
}

func (p *Plugin) recallItem(key string, data []byte) (kv KeyVal, err error) {
	it, err := decodeItem(data)
	if err != nil {
		return kv, fmt.Errorf("key %s: %w", key, err)
	}
	if kv, err = it.item(key); err == nil {
		err = p.checkItem(key, kv.Val)
	}
	return kv, err
}

// recallStores restores what was known of the stores before the restart. It deletes the items of stores
// that are no longer configured, unless no store is configured at all: that may be an accident, such
// as a volume with .conf files that is not mounted. Then the items stay in effect until an operator
// accepts the change (AcceptSource), and recallStores returns the former stores.
func (p *Plugin) recallStores(stores []*watched) (former []*watched) {
	p.mu.Lock()
	dropped, keys := map[string]int{}, []string(nil)
	for _, s := range stores {
		st, ok := p.recalled[s.name]
		s.recalled = ok && st.Complete
		s.identity, s.guardedSince, s.held, s.places = st.Identity, st.Guarded, st.Held, st.Places
	}
	for _, name := range slices.Sorted(maps.Keys(p.recalled)) {
		if slices.ContainsFunc(stores, func(s *watched) bool { return s.name == name }) {
			continue
		}
		items := p.store.source(name).items
		if len(items) > 0 && len(stores) == 0 && !p.limit.Off() && !slices.Contains(p.cfg.AllowEmpty, name) {
			former = append(former, p.formerStore(name, items))
			continue
		}
		dropped[name] = len(items)
		keys = slices.AppendSeq(keys, maps.Keys(items))
		p.store.drop(name)
	}
	p.mu.Unlock()
	p.itemWatches.note(keys)
	for _, name := range slices.Sorted(maps.Keys(dropped)) {
		if dropped[name] == 0 {
			continue
		}
		p.Log.Warn("deleting the items of a store that is no longer configured", "source", name, "items", dropped[name])
	}
	if len(dropped) > 0 {
		p.saveAll()
	}
	return former
}

// formerStore returns a store that is no longer configured, and whose items stay in effect. It sends
// no events. The lock is held.
func (p *Plugin) formerStore(name string, items map[string]item) *watched {
	st := p.recalled[name]
	s := newWatched(name)
	s.identity, s.guardedSince, s.places, s.known = st.Identity, st.Guarded, st.Places, true
	close(s.arrived)
	g := guarded{GuardStatus{Reason: fmt.Sprintf("it is no longer configured, and neither is any other store; that would delete %d of %d items", len(items), len(items)),
		Deletes: len(items), Items: len(items)}, map[string]KeyVal{}, st.Identity, st.Places, false}
	for key := range items {
		g.differing[key] = KeyVal{Key: key}
	}
	p.hold(s, g, st.Held)
	return s
}

// changedKeys returns the keys of a source that a change concerns; before are its
// previous items. The lock is held.
func (p *Plugin) changedKeys(ch change, before map[string]item) (keys []string) {
	if !ch.resync {
		for _, it := range ch.items {
			keys = append(keys, it.Key)
		}
		return keys
	}
	now := p.store.source(ch.source).items
	for key, it := range now {
		if old, ok := before[key]; !ok || !proto.Equal(old.val, it.val) {
			keys = append(keys, key)
		}
	}
	for key := range before {
		if _, ok := now[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// save reports changes of a source to watches, and persists its present items with
// the given keys, together with more. A failed write does not fail the change; it is retried by the
// next change or after a delay.
func (p *Plugin) save(source string, keys []string, more map[string][]byte) {
	p.itemWatches.note(keys)
	if p.State == nil || len(keys)+len(more) == 0 {
		return
	}
	p.mu.RLock()
	stale := p.unsaved
	items := p.store.source(source).items
	encoded, errs := make([][]byte, len(keys)), make([]error, len(keys))
	inParallel(len(keys), func(i int) {
		if it, ok := items[keys[i]]; ok {
			encoded[i], errs[i] = encodeItem(it.of(keys[i]))
		}
	})
	p.mu.RUnlock()
	put := make(map[string][]byte, len(keys)+len(more))
	for i, key := range keys {
		put[itemPrefix+source+"\x00"+key] = encoded[i]
	}
	err := cmp.Or(errs...)
	maps.Copy(put, more)
	switch {
	case err != nil:
		p.saved(err)
	case stale:
		p.saveAll()
	default:
		p.saved(p.State.SaveState(stateName, put, false))
	}
}

// saveAll persists everything again.
func (p *Plugin) saveAll() {
	p.mu.RLock()
	put := map[string][]byte{}
	var err error
	for _, src := range p.store.sources {
		for key, it := range src.items {
			var e error
			if put[itemPrefix+src.name+"\x00"+key], e = encodeItem(it.of(key)); e != nil {
				err = e
			}
		}
	}
	for _, s := range p.stores {
		if s.kept != nil {
			put[storePrefix+s.name] = s.kept
		} else if st, ok := p.recalled[s.name]; ok {
			put[storePrefix+s.name], _ = json.Marshal(st) // cannot fail: all of it can be encoded
		}
	}
	if u := p.unconfirmed; u != nil {
		put[confirmKey] = u.kept
	}
	p.mu.RUnlock()
	if err == nil {
		err = p.State.SaveState(stateName, put, true)
	}
	p.saved(err)
}

func (p *Plugin) saved(err error) {
	p.mu.Lock()
	was := p.unsaved
	p.unsaved = err != nil
	p.mu.Unlock()
	switch {
	case err != nil && !was:
		p.Log.Error("cannot persist the configuration of the sources; retrying", "error", err)
		p.Go(p.saveLater)
	case err == nil && was:
		p.Log.Info("the configuration of the sources is persistent again")
	}
}

// saveLater retries until everything is persisted.
func (p *Plugin) saveLater(ctx context.Context) {
	tick := time.NewTicker(saveRetry)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		turn, err := p.turns.Take(ctx, fairqueue.Request{Class: fairqueue.Urgent, What: "persist the configuration"})
		if err != nil {
			return // the agent stops
		}
		p.mu.RLock()
		over := !p.unsaved
		p.mu.RUnlock()
		if !over {
			p.saveAll()
		}
		p.mu.RLock()
		over = !p.unsaved
		p.mu.RUnlock()
		turn.End()
		if over {
			return
		}
	}
}

// storeState returns the persistent state of the store of a change, if it has
// changed. The lock is held.
func (p *Plugin) storeState(ch change) map[string][]byte {
	s := ch.store
	if p.State == nil || s == nil || !s.known {
		return nil
	}
	data, err := json.Marshal(keptStore{len(s.incomplete) == 0, s.identity, s.guardedSince, s.held, s.places})
	if err != nil || string(data) == string(s.kept) {
		return nil
	}
	s.kept = data
	return map[string][]byte{storePrefix + s.name: data}
}
