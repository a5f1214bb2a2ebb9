package item

import (
	"maps"
	"slices"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// additions are the entries that were added in a session with a VPP that does not list them.
type additions[K comparable, E any] struct {
	mu sync.Mutex
	by map[K]E
}

func newAdditions[K comparable, E any]() *additions[K, E] {
	return &additions[K, E]{by: map[K]E{}}
}

// note notes the result of the addition or removal of an entry.
func (d *entries[V, E, K]) note(e E, add bool, err error) {
	do, opErr := d.Operation.On(d.vpp)
	if opErr != nil || !do.Unlisted {
		return
	}
	added, stateErr := d.added.On(d.vpp)
	if stateErr != nil {
		return
	}
	added.mu.Lock()
	defer added.mu.Unlock()
	switch {
	case add && err == nil:
		added.by[d.id(e)] = e
	case !add && (err == nil || session.Gone(err, d.Gone...)):
		delete(added.by, d.id(e))
	}
}

// listAdded returns the entries that were added in the session.
func (d *entries[V, E, K]) listAdded() ([]E, error) {
	added, err := d.added.On(d.vpp)
	if err != nil {
		return nil, err
	}
	added.mu.Lock()
	defer added.mu.Unlock()
	return slices.Collect(maps.Values(added.by)), nil
}
