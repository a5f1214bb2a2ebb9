package plan_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// TestConflictingAdoptedValues counts how often values are compared while pairs
// of adopted values are planned that each need what goes with the change of the other.
func TestConflictingAdoptedValues(t *testing.T) {
	t.Parallel()
	few, many := comparedInConflicts(t, 10), comparedInConflicts(t, 100)
	if many > 12*few {
		t.Errorf("%d comparisons for 10 pairs, %d for 100: expected ten times as many", few, many)
	}
}

func comparedInConflicts(t *testing.T, pairs int) (compared int) {
	t.Helper()
	sb := kvstest.NewMockSB()
	tap, piece := sb.Descriptor("tap", "tap/"), sb.Descriptor("piece", "piece/", kvstest.Derived())
	equal := tap.ValueComparator
	tap.ValueComparator = func(key string, a, b proto.Message) bool {
		compared++
		return equal(key, a, b)
	}
	r, err := registry.New(nil).With([]*api.KVDescriptor{tap, piece})
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New()
	var req plan.Request
	for i := range 2 * pairs {
		key, own, others := fmt.Sprintf("tap/%03d", i), fmt.Sprintf("piece/%03d", i), fmt.Sprintf("piece/%03d", i^1)
		n := g.Ensure(key, r.ByName("tap"), nil)
		have := r.Watched(key, n.Desc, &model.Item{Value: 1, Derived: []*model.Derived{{Key: own}}}, true)
		_ = g.SetHave(n, have, nil, graph.Adopt) // without metadata nothing can clash
		child := g.Ensure(own, r.ByName("piece"), n)
		g.SetWant(child, have.Derived[0].Value)
		_ = g.SetHave(child, have.Derived[0].Value, nil, graph.Found)
		want := r.Wanted(key, n.Desc, &model.Item{Value: 2, Deps: []string{others}})
		req.Changes = append(req.Changes, plan.Change{Key: key, Desc: n.Desc, Want: want, Adopt: true})
	}
	pl := plan.Make(g, req)
	for i := range pl.Ops {
		if op := &pl.Ops[i]; op.Held == nil || op.Held.By != op.Key {
			t.Fatalf("%s: %v, held %+v", op.Key, op.Kind, op.Held)
		}
	}
	if len(pl.Ops) != 2*pairs {
		t.Fatalf("%d operations for %d values", len(pl.Ops), 2*pairs)
	}
	return compared
}
