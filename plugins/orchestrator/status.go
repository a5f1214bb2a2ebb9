package orchestrator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// maxTold is the maximum number of logged or recorded failures of one kind.
const maxTold = 20

// Rejected is an invalid item of a store.
type Rejected struct {
	Key      string
	Location string // its origin; may be empty
	Err      error
}

// SourceStatus is the state of one source.
type SourceStatus struct {
	Name       string    `json:"name"`
	Items      int       `json:"items"`                // number of its items
	Shadowed   int       `json:"shadowed"`             // items that are overridden by another source
	LastChange time.Time `json:"last_change,omitzero"` // of its items
	LastError  string    `json:"last_error,omitempty"` // of its last change
	Rejected   []string  `json:"rejected,omitempty"`   // rejected items; the first ones

	Unhandled []Unhandled `json:"unhandled,omitempty"` // keys without a model

	Guard *GuardStatus `json:"guard,omitempty"` // its content is not followed
}

// report is the recorded state of a source.
type report struct {
	lastChange time.Time
	lastErr    error
	rejected   map[string]Rejected // by key, until a valid value arrives
	refused    map[string]refusal  // of clients; see NoteRefused
}

func (p *Plugin) report(source string) *report {
	r := p.reports[source]
	if r == nil {
		r = &report{rejected: map[string]Rejected{}}
		p.reports[source] = r
	}
	return r
}

// noteChange records the result of a change of a source.
func (p *Plugin) noteChange(source string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.report(source)
	r.lastChange, r.lastErr = time.Now(), err
	var txn *api.TransactionError
	if !errors.As(err, &txn) || txn.GetTxnInitError() != nil || txn.Reverted() {
		return
	}
	for _, kv := range txn.GetKVErrors() {
		if _, owner := p.store.effective(kv.Key); owner != nil && owner.name == source {
			return
		}
	}
	r.lastErr = nil // only values of other sources failed
}

// noteRejected logs and records the rejected items of a change; good are its
// valid items. all reports that previous records are void. It returns the
// origins, or else the keys, of the recorded items.
func (p *Plugin) noteRejected(source string, rejected []Rejected, good []KeyVal, all bool) (places []string) {
	p.mu.Lock()
	r := p.report(source)
	if all {
		clear(r.rejected)
	}
	if len(r.rejected) > 0 {
		for _, item := range good {
			delete(r.rejected, item.Key)
		}
	}
	for _, item := range rejected {
		r.rejected[item.Key] = item
	}
	for key, item := range r.rejected {
		places = append(places, cmp.Or(item.Location, key))
	}
	p.mu.Unlock()
	slices.Sort(places)
	for _, item := range rejected[:min(len(rejected), maxTold)] {
		p.Log.Warn("item rejected", "source", source, "location", item.Location, "error", item.Err)
	}
	if n := len(rejected) - maxTold; n > 0 {
		p.Log.Warn("more items rejected", "source", source, "items", n)
	}
	return places
}

// tellFailures logs the failed values of a transaction, with their origins.
func (p *Plugin) tellFailures(err error) {
	var txn *api.TransactionError
	switch {
	case err == nil, errors.Is(err, ErrWithdrawn):
		return
	case !errors.As(err, &txn):
		p.Log.Error("configuration was not applied", "error", err)
		return
	case txn.GetTxnInitError() != nil:
		p.Log.Error("configuration was not applied", "error", txn.GetTxnInitError())
	}
	failed := txn.GetKVErrors()
	for _, kv := range failed[:min(len(failed), maxTold)] {
		p.mu.RLock()
		item, _ := p.store.effective(kv.Key)
		p.mu.RUnlock()
		p.Log.Warn("value failed", "key", kv.Key, "location", item.Location.Text(kv.Key), "error", kv.Error)
	}
	if n := len(failed) - maxTold; n > 0 {
		p.Log.Warn("more values failed", "values", n)
	}
}

// HealthItems is the part of the plugin's health that reports rejected items, and keys
// without effect.
const HealthItems = "items"

// tellHealth reports the state of the sources, and whether a change waits for
// confirmation.
func (p *Plugin) tellHealth() {
	p.mu.Lock()
	defer p.mu.Unlock()
	items, shadowed := 0, 0
	var errs []error
	for _, s := range p.store.sources {
		items += len(s.items)
		shadowed += p.store.shadowed(s)
		for _, r := range p.report(s.name).rejected {
			errs = append(errs, r.Err)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	told := errors.Join(errs[:min(len(errs), maxTold)]...)
	unhandled, meant := p.unhandledText()
	if unhandled != "" {
		told = errors.Join(told, errors.New(unhandled))
	}
	switch scope := p.Health.Scope(HealthItems); {
	case len(errs) > 0:
		scope.Degraded(count(len(errs), "rejected item"), told)
	case meant:
		scope.Degraded("keys of stores have no effect", told)
	default:
		scope.OK("no item is rejected")
	}
	p.tellGuard()
	switch {
	case !p.ended:
		p.Health.Starting(p.awaited())
	case p.keeping:
		p.Health.Degraded("a part of the configuration is unknown ("+strings.Join(p.gaps(), "; ")+"); nothing found in the southbound is removed", nil)
	default:
		text := fmt.Sprintf("%s from %s", count(items, "item"), count(len(p.store.sources), "source")) + p.unconfirmed.note()
		if shadowed > 0 {
			text += fmt.Sprintf("; %d overridden by another source (agentctl sources)", shadowed)
		}
		if unhandled != "" {
			text += "; " + unhandled
		}
		p.Health.OK(text)
	}
}

// awaited describes what the initial synchronisation waits for. The lock is
// held.
func (p *Plugin) awaited() string {
	if p.begun {
		return "the " + initialSync + " is being executed"
	}
	var names []string
	for _, s := range p.stores {
		if !s.known {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return "the " + initialSync + " is about to begin"
	}
	return "waits for the initial state of " + strings.Join(names, ", ")
}

// count formats a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}

// Sources returns the states of all sources, the one with the lowest priority
// first.
func (p *Plugin) Sources() []SourceStatus {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var all []SourceStatus
	for _, s := range p.store.sources {
		st := SourceStatus{Name: s.name, Items: len(s.items), Shadowed: p.store.shadowed(s)}
		if r := p.reports[s.name]; r != nil {
			st.LastChange = r.lastChange
			if r.lastErr != nil {
				st.LastError = r.lastErr.Error()
			}
			for _, item := range r.rejected {
				st.Rejected = append(st.Rejected, strings.TrimPrefix(item.Location+": "+item.Err.Error(), ": "))
			}
			slices.Sort(st.Rejected)
			st.Rejected = st.Rejected[:min(len(st.Rejected), maxTold)]
		}
		for _, w := range p.stores {
			if w.name == s.name {
				st.Unhandled = p.unhandledOf(w)
				if w.guard != nil {
					status := w.guard.GuardStatus
					st.Guard = &status
				}
			}
		}
		all = append(all, st)
	}
	return all
}

// ListData returns the items in effect, or the items of one source, sorted by key.
// The values must not be changed.
func (p *Plugin) ListData(name string) []KeyVal {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if name == "" {
		return p.store.all()
	}
	for _, s := range p.store.sources {
		if s.name == name {
			return (&store{sources: []*source{s}}).all()
		}
	}
	return nil
}

// SourcedItem has the items of all sources for one key: the one in effect first, then those
// that it overrides.
type SourcedItem struct {
	Key     string
	Sources []SourceItem // at least one
}

// SourceItem is the item of one source.
type SourceItem struct {
	Source   string
	Val      proto.Message // must not be changed
	Labels   map[string]string
	Location kv.Location
}

// Sourced returns the items of all sources whose keys have the prefix, sorted by key.
func (p *Plugin) Sourced(prefix string) (items []SourcedItem) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, kv := range p.store.all() {
		if strings.HasPrefix(kv.Key, prefix) {
			items = append(items, p.store.sourced(kv.Key))
		}
	}
	return items
}

// Item returns the items of all sources for a key; it has no Sources if there are none.
func (p *Plugin) Item(key string) SourcedItem {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.store.sourced(key)
}

// Status returns the state of the value of a key, and the source it comes from.
func (p *Plugin) Status(key string) Result { return p.results([]KeyVal{{Key: key}}, nil)[0] }

// Synced returns a channel that is closed when the initial synchronisation has
// been executed.
func (p *Plugin) Synced() <-chan struct{} { return p.synced }

// Models returns the models; valid from Init on.
func (p *Plugin) Models() *models.Set { return p.Codec.Models() }
