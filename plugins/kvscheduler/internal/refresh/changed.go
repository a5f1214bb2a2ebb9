package refresh

import (
	"hash/maphash"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// appearance is what the status of a value with its derived ones depends on,
// as far as a refresh changes it.
type appearance struct {
	itself  uint64
	derived uint64 // a sum over the derived values, in no order
}

func look(n *graph.Node) appearance {
	a := appearance{itself: facts(n)}
	for child := range n.Derived {
		a.derived += maphash.String(seed, child.Key) * (facts(child) + 1)
	}
	return a
}

// facts are the facts about one value, a bit for each.
func facts(n *graph.Node) (bits uint64) {
	for i, is := range [...]bool{n.Want != nil, n.Obtained(), n.Have != nil, n.Missing, n.Err != nil, n.Retrying} {
		if is {
			bits |= 1 << i
		}
	}
	return bits
}

// seed is the seed of sums over derived values.
var seed = maphash.MakeSeed()

// compare reports a value that does not look as before.
func (r *Refresher) compare(n *graph.Node, before appearance) {
	if look(n) != before {
		r.Observer.Changed(n.Key)
	}
}
