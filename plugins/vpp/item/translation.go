package item

import (
	"context"
	"reflect"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// translation is between values and what VPP has of them. It is what Entry and Object have in
// common.
type translation[V proto.Message, E any, K comparable] struct {
	Resolution[V, E]
	vpp   *session.VPP
	model models.Model[V]

	id       func(e E) K
	value    func(n *Names, e E) V
	equal    func(a, b E) bool // nil: reflect.DeepEqual
	learned  func(e E) bool    // nil: VPP makes none by itself
	implicit func(e E) bool    // nil: VPP has none without a value
	// assume takes the settings that VPP does not report from an expected entry.
	assume func(found, expected E) E // nil: VPP reports all
}

// same compares entries for which equal names have equal numbers. A value that cannot be
// an entry equals none.
func (t *translation[V, E, K]) same(_ string, a, b V) bool {
	x, y, ok := t.Both(a, b)
	return ok && t.equals(x, y)
}

func (t *translation[V, E, K]) equals(a, b E) bool {
	if t.equal != nil {
		return t.equal(a, b)
	}
	return reflect.DeepEqual(a, b)
}

type wanted[V proto.Message, E any] struct {
	key   string
	value V
	entry E
}

// recognized translates what VPP has into values. expected has the values that may be there;
// an entry is one of them if the IDs are equal. Of several values of one ID the first
// counts. each is called for every value that was found, with the index of its entry: for a
// key once, and for the expected ones first.
func (t *translation[V, E, K]) recognized(ctx context.Context, all []E, expected map[K]wanted[V, E],
	each func(i int, key string, v V, origin kvs.ValueOrigin)) error {
	if len(all) == 0 {
		return nil
	}
	t.unnamed.Clear()
	n, seen := t.names(ctx), make(map[string]bool, len(all))
	found := func(i int, key string, v V, origin kvs.ValueOrigin) {
		if !n.unknown && !seen[key] {
			seen[key] = true
			each(i, key, v, origin)
		}
		n.next()
	}
	var others []int
	for i, e := range all {
		w, ok := expected[t.id(e)]
		if !ok {
			others = append(others, i)
			continue
		}
		if t.assume != nil {
			e = t.assume(e, w.entry)
		}
		found(i, w.key, t.expected(n, w, e), kvs.FromNB)
	}
	for _, i := range others {
		if (t.learned == nil || !t.learned(all[i])) && (t.implicit == nil || !t.implicit(all[i])) {
			v := t.value(n, all[i])
			key, partly := t.partly(n, v, all[i])
			if !partly {
				key = t.model.Key(v)
				t.mark(n, v, all[i])
			}
			found(i, key, v, kvs.UnknownOrigin) // VPP keeps no tag for it
		}
	}
	return n.err()
}

// expected returns the value of an entry that is expected.
func (t *translation[V, E, K]) expected(n *Names, w wanted[V, E], e E) V {
	v := t.value(n, e) // even if not used: n.unknown means that its interface is gone
	_, partly := t.partly(n, v, e)
	switch {
	case partly:
		t.unnamed.Store(w.key, e)
	case t.equals(w.entry, e):
		v = w.value // in its spelling
	default:
		t.mark(n, v, e)
	}
	return v
}

// partly is Names.partly for an entry.
func (t *translation[V, E, K]) partly(n *Names, v V, e E) (key string, ok bool) {
	return n.partly(v, func(n *Names) string { return t.model.Key(t.value(n, e)) })
}

// mark adds to a value what its model lacks of an entry, unless n lacks a name for it. A value
// that cannot be an entry equals none anyway.
func (t *translation[V, E, K]) mark(n *Names, v V, e E) {
	if n.unknown {
		return
	}
	modeled, err := t.Live(v)
	if err != nil {
		return
	}
	if t.assume != nil {
		e = t.assume(e, modeled)
	}
	if !t.equals(e, modeled) {
		markUnmodeled(v, e, modeled)
	}
}

// expect adds a value to those that are expected. A value that names what is not in VPP is
// not in VPP either.
func (t *translation[V, E, K]) expect(expected map[K]wanted[V, E], key string, v V) {
	v = kvs.WithoutUnmodeled(v) // it may have lost that since
	e, err := t.Live(v)
	if err != nil {
		return
	}
	if _, twice := expected[t.id(e)]; !twice {
		expected[t.id(e)] = wanted[V, E]{key, v, e}
	}
}

// certainFirst puts the values whose creation is confirmed first. Of values that would be one object
// of VPP they have it, and the others could not be created.
func certainFirst[V proto.Message, M any](correlate []kvs.KV[V, M]) []kvs.KV[V, M] {
	if !slices.ContainsFunc(correlate, func(kv kvs.KV[V, M]) bool { return kv.Unconfirmed }) {
		return correlate
	}
	sorted := slices.Clone(correlate)
	slices.SortStableFunc(sorted, func(a, b kvs.KV[V, M]) int {
		switch {
		case a.Unconfirmed == b.Unconfirmed:
			return 0
		case b.Unconfirmed:
			return -1
		}
		return 1
	})
	return sorted
}

// names gives the names of what VPP has now.
func (t *translation[V, E, K]) names(ctx context.Context) *Names {
	n := &Names{}
	if t.Interfaces != nil {
		n.snapshot = t.Interfaces.Snapshot(ctx)
	}
	return n
}

// after returns the descriptors whose metadata are needed.
func (t *translation[V, E, K]) after(more []string) []string {
	if t.Interfaces == nil {
		return more
	}
	return append([]string{InterfaceName}, more...)
}
