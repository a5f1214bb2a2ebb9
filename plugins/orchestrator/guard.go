package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/guard"
)

// Errors of AcceptSource.
var (
	// ErrUnknownSource is returned if there is no store with the name.
	ErrUnknownSource = errors.New("there is no such store")
	// ErrNothingToAccept is returned if the content of the store is followed already.
	ErrNothingToAccept = errors.New("the content of the store is in effect; there is nothing to accept")
)

// HealthGuard is the part of the plugin's health that reports stores whose content is not
// followed.
const HealthGuard = "guard"

// quietLift is how long a store that has enough items again must be without events until it is
// followed: a program that restores it may not have finished.
const quietLift = 10 * time.Second

// GuardStatus is the state of a store whose content is not followed, because it may be the
// result of an accident.
type GuardStatus struct {
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"`
	Deletes int       `json:"deletes"` // items in effect that the store does not have
	Items   int       `json:"items"`   // items in effect
	Content int       `json:"content"` // items that the store has
}

// guarded is the content of a store that is not followed.
type guarded struct {
	GuardStatus
	differing map[string]KeyVal // from the items in effect; without a value: the store has no such item
	identity  kv.Identity       // of the store
	places    []string          // that are configured now
	enough    bool              // the store has enough items again
}

// evidenceOf returns what an event says about its store.
func evidenceOf(event any) (e kv.Evidence) {
	if ev, ok := event.(datasync.Evident); ok {
		e = ev.Evidence()
	}
	return e
}

// inferredOf returns the keys of a change for which the store saw no event.
func inferredOf(in []incoming) map[string]bool {
	keys := map[string]bool{}
	for _, it := range in {
		if i, ok := it.KeyVal.(datasync.Inferred); ok && i.Inferred() {
			keys[it.GetKey()] = true
		}
	}
	return keys
}

// addInferred adds the keys of the values whose keys in the store are inferred.
func (a *aliases) addInferred(inferred map[string]bool) {
	for stored, key := range a.byStored {
		if inferred[stored] {
			inferred[key] = true
		}
	}
}

// screen decides whether a change of a store is followed. If not, it leaves only the requests
// in the change: events, and what a place explicitly says. inferred are the keys without an event.
func (p *Plugin) screen(s *watched, ch *change, ev kv.Evidence, inferred map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.store.source(s.name).items
	if p.limit.Off() || s.guard == nil && !suspicious(s, before, ch, ev, inferred) {
		p.follows(s, ev)
		return
	}
	requested, differing := s.split(before, ch, ev, inferred)
	p.tellRemoved(s, before, requested, ev)
	c := p.caseOf(s, before, requested, differing, ev)
	c.Now = s.present(ev.Identity, ch.resync || len(inferred) > 0)
	reason := guard.Judge(p.limit, c)
	switch enough := reason == "" && !ch.resync && len(inferred) == 0 && c.Deleted+c.Changed > 0; {
	case reason == "" && !enough, c.Empty && slices.Contains(p.cfg.AllowEmpty, s.name):
		if s.guard != nil && !ch.resync {
			ch.items = append(requested, valuesOf(differing)...)
		}
		p.follows(s, ev)
	default:
		ch.items, ch.resync, ch.held = requested, false, true
		p.hold(s, guarded{GuardStatus{Reason: reason, Deletes: c.Deleted, Items: c.Items, Content: c.Items - c.Deleted + c.Added}, differing, ev.Identity, ev.Places, enough}, c.Now)
	}
}

// suspicious reports whether a change may be the result of an accident at all. The lock is held.
func suspicious(s *watched, before map[string]item, ch *change, ev kv.Evidence, inferred map[string]bool) bool {
	if len(before) == 0 {
		return false
	}
	if s.identity.Other(ev.Identity) || s.identity.WentBack(ev.Identity) {
		return true
	}
	kept := 0
	for i := range ch.items {
		it := &ch.items[i]
		if _, known := before[it.Key]; known && it.Val != nil {
			kept++
		}
		if it.Val == nil && inferred[it.Key] {
			return true
		}
	}
	return ch.resync && kept < len(before)
}

// splitting sorts the items of a store into requests and differences.
type splitting struct {
	before    map[string]item         // the items in effect
	unwanted  func(place string) bool // it says explicitly that it is empty, or is no longer configured
	requested []KeyVal
	differing map[string]KeyVal
}

// note sorts an item; isInferred reports that the store saw no event for it.
func (sp *splitting) note(it KeyVal, isInferred bool) {
	old, known := sp.before[it.Key]
	delete(sp.differing, it.Key)
	switch {
	case !isInferred, known && it.Val == nil && sp.unwanted(old.location.Place()):
		sp.requested = append(sp.requested, it)
	case known && (it.Val == nil || !proto.Equal(old.val, it.Val)), !known && it.Val != nil:
		sp.differing[it.Key] = it
	}
}

// split returns the requests in a change, and how the rest of the store's content differs from
// the items in effect. The lock is held.
func (s *watched) split(before map[string]item, ch *change, ev kv.Evidence, inferred map[string]bool) (requested []KeyVal, differing map[string]KeyVal) {
	removed := s.removedPlaces(ev)
	unwanted := func(place string) bool {
		return slices.Contains(ev.Emptied, place) || removed.wanted() && removed.has(place)
	}
	sp := splitting{before: before, unwanted: unwanted, differing: map[string]KeyVal{}}
	if s.guard != nil && !ch.resync {
		sp.differing = maps.Clone(s.guard.differing)
	}
	present := map[string]bool{}
	for _, it := range ch.items {
		present[it.Key] = true
		sp.note(it, ch.resync || inferred[it.Key])
	}
	var missing []string // deletions: of a resync, or those held back that the store may have explained since
	if ch.resync {
		missing = slices.Collect(maps.Keys(before))
	} else {
		for key, it := range sp.differing {
			if it.Val == nil {
				missing = append(missing, key)
			}
		}
	}
	for _, key := range missing {
		if !present[key] {
			sp.note(KeyVal{Key: key}, true)
		}
	}
	return sp.requested, sp.differing
}

// caseOf compares the content of a store with the items in effect after the requests. The lock is held.
func (p *Plugin) caseOf(s *watched, before map[string]item, requested []KeyVal, differing map[string]KeyVal, ev kv.Evidence) guard.Case {
	c := guard.Case{Before: s.identity, Now: ev.Identity, Items: len(before), Lost: map[string]string{}}
	for _, it := range requested {
		switch _, known := before[it.Key]; {
		case known && it.Val == nil:
			c.Items--
		case !known && it.Val != nil:
			c.Items++
		}
	}
	removed := s.removedPlaces(ev)
	for key, it := range differing {
		old, known := before[key]
		switch {
		case !known:
			c.Added++
		case it.Val != nil:
			c.Changed++
		default:
			c.Deleted++
			if place, reason := lostAt(old.location.Place(), ev.Doubtful); place != "" {
				c.Lost[place] = reason
			} else if place := old.location.Place(); removed.has(place) {
				c.Lost[place] = removed.doubt
			}
		}
	}
	c.Empty = c.Added == 0 && c.Deleted == c.Items
	return c
}

// lostAt returns the doubtful place that an item came from; empty if there is none.
func lostAt(place string, doubtful map[string]string) (at, reason string) {
	for d, why := range doubtful {
		if covers(d, place) {
			return d, why
		}
	}
	return "", ""
}

// covers reports whether a place is the other one, or a directory that it is in.
func covers(dir, place string) bool {
	return place == dir || strings.HasPrefix(place, strings.TrimSuffix(dir, "/")+"/")
}

// removedPlaces are the places that the configuration of the agent no longer names. Their
// items are not wanted, unless the places that it names instead are missing or without items.
type removedPlaces struct {
	configured []string // nil: the store has no such places
	doubt      string   // empty: the items are not wanted
}

func (r removedPlaces) wanted() bool { return r.doubt == "" }

func (r removedPlaces) has(place string) bool {
	return r.configured != nil && place != "" && !slices.ContainsFunc(r.configured, func(dir string) bool { return covers(dir, place) })
}

// removedPlaces compares the configured places with those when the content in effect was
// read. The lock is held.
func (s *watched) removedPlaces(ev kv.Evidence) removedPlaces {
	r := removedPlaces{configured: ev.Places}
	if len(ev.Places) == 0 {
		r.doubt = "no longer configured, and the agent has no other place"
	}
	for _, dir := range ev.Places {
		if slices.Contains(s.places, dir) {
			continue
		}
		for _, place := range slices.Sorted(maps.Keys(ev.Doubtful)) {
			if covers(dir, place) {
				r.doubt = "no longer configured, and " + place + ": " + ev.Doubtful[place]
				return r
			}
		}
	}
	return r
}

// tellRemoved logs that items are deleted because their places are no longer configured.
// The lock is held.
func (p *Plugin) tellRemoved(s *watched, before map[string]item, requested []KeyVal, ev kv.Evidence) {
	removed, items, places := s.removedPlaces(ev), 0, map[string]bool{}
	for _, it := range requested {
		if place := before[it.Key].location.Place(); it.Val == nil && removed.has(place) {
			items++
			places[place] = true
		}
	}
	if items > 0 {
		p.Log.Warn("deleting the items of places that are no longer configured", "source", s.name,
			"items", items, "places", strings.Join(slices.Sorted(maps.Keys(places)), ", "))
	}
}

func valuesOf(differing map[string]KeyVal) []KeyVal {
	values := make([]KeyVal, 0, len(differing))
	for _, key := range slices.Sorted(maps.Keys(differing)) {
		values = append(values, differing[key])
	}
	return values
}

// follows records that the content of a store is followed. The lock is held.
func (p *Plugin) follows(s *watched, ev kv.Evidence) {
	if s.guard != nil {
		p.Log.Info("the content of the store is followed again", "source", s.name)
	}
	s.guard, s.guardedSince, s.held, s.identity = nil, time.Time{}, kv.Identity{}, s.identity.Then(ev.Identity)
	s.places = ev.Places
}

// present returns the identity to judge a store by. The revision of a store that went back grows
// again, and says nothing until it is followed. Events alone do not bring a store back.
func (s *watched) present(id kv.Identity, listed bool) kv.Identity {
	if s.guardedSince.IsZero() {
		return id
	}
	if !listed {
		return s.held
	}
	if s.identity.WentBack(s.held) && !s.held.Other(id) && id.Revision > 0 {
		id.Revision = min(id.Revision, s.held.Revision)
	}
	if s.held.Run == id.Run {
		id.Evicted = max(id.Evicted, s.held.Evicted)
	}
	return id
}

// hold records that the content of a store with an identity is not followed. The lock is held.
func (p *Plugin) hold(s *watched, g guarded, id kv.Identity) {
	s.held = id
	if g.enough {
		g.Reason = fmt.Sprintf("the store has %d of %d items again; waiting until it does not change for %v", g.Items-g.Deletes, g.Items, p.quietLift)
	}
	if s.guardedSince.IsZero() {
		s.guardedSince = p.clocks.now().UTC().Truncate(time.Second)
	}
	g.Since = s.guardedSince
	if s.guard == nil {
		p.Log.Error("the content of a store is not followed; its last content stays in effect", "source", s.name,
			"reason", g.Reason, "remedy", remedy(s.name))
	}
	s.guard = &g
}

// enough reports whether a guarded store has enough items again.
func (p *Plugin) enough(s *watched) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return s.guard != nil && s.guard.enough
}

// isNews reports whether evidence without changes matters.
func (p *Plugin) isNews(s *watched, ev kv.Evidence) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return s.guard != nil || s.identity.Differs(ev.Identity)
}

// remedy says what an operator can do about a store that is not followed.
func remedy(name string) string { return "`agentctl sources accept " + name + "`, or bring it back" }

// text describes a store that is not followed.
func (g *guarded) text(name string) string {
	if g.enough {
		return name + ": " + g.Reason
	}
	return name + ": " + g.Reason + ": " + remedy(name)
}

// tellGuard reports the stores that are not followed. The lock is held.
func (p *Plugin) tellGuard() {
	var texts []string
	var since time.Time
	for _, s := range p.stores {
		if s.guard == nil {
			continue
		}
		texts = append(texts, s.guard.text(s.name))
		if since.IsZero() || s.guard.Since.Before(since) {
			since = s.guard.Since
		}
	}
	switch {
	case len(texts) > 0:
		p.guarding = true
	case p.guarding:
		p.guarding = false
		p.Health.Scope(HealthGuard).Close()
		return
	default:
		return
	}
	p.Health.Scope(HealthGuard).Degraded("not followed since "+since.Format(time.RFC3339)+": "+strings.Join(texts, "; "), nil)
}

// lift returns the change that makes the content of a guarded store take effect; ok is false if
// it is followed. It is for the goroutine that follows the store.
func (p *Plugin) lift(s *watched, incomplete []string) (ch change, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.guard == nil {
		return ch, false
	}
	ch = change{source: s.name, items: valuesOf(s.guard.differing), store: s, incomplete: incomplete, held: true,
		description: "accepted content of " + s.name}
	s.identity = kv.Identity{}
	p.follows(s, kv.Evidence{Identity: s.guard.identity, Places: s.guard.places})
	return ch, true
}

// acceptance is a request to follow a store.
type acceptance struct {
	ctx    context.Context
	caller Caller
	done   chan<- accepted
}

type accepted struct {
	changes int
	err     error
}

// AcceptSource makes the content of a store take effect that is not followed because it may
// be the result of an accident. It returns the number of changed items. The error is
// ErrUnknownSource, ErrNothingToAccept, or the error of the transaction.
func (p *Plugin) AcceptSource(ctx context.Context, name string, caller Caller) (changes int, err error) {
	p.mu.RLock()
	at := slices.IndexFunc(p.stores, func(s *watched) bool { return s.name == name })
	var names []string
	for _, s := range p.stores {
		names = append(names, s.name)
	}
	var s *watched
	if at >= 0 {
		s = p.stores[at]
	}
	p.mu.RUnlock()
	if s == nil {
		return 0, fmt.Errorf("%q: %w; the stores are: %s", name, ErrUnknownSource, strings.Join(names, ", "))
	}
	done := make(chan accepted, 1)
	select {
	case s.accepts <- acceptance{ctx, caller, done}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-p.Context().Done():
		return 0, ErrWithdrawn
	}
	select {
	case a := <-done:
		return a.changes, a.err
	case <-p.Context().Done():
		return 0, ErrWithdrawn
	}
}

// acceptContent handles an acceptance.
func (p *Plugin) acceptContent(s *watched, incomplete []string, a acceptance) {
	ch, ok := p.lift(s, incomplete)
	if !ok {
		a.done <- accepted{0, fmt.Errorf("%s: %w", s.name, ErrNothingToAccept)}
		return
	}
	ch.caller = a.caller
	p.Log.Warn("the content of the store was accepted", "source", s.name, "changes", len(ch.items), "user", a.caller.User, "client", a.caller.Addr)
	_, err := p.apply(a.ctx, ch)
	p.tellFailures(err)
	p.tellHealth()
	a.done <- accepted{len(ch.items), err}
}
