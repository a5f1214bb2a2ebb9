package refresh

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"

// appearance is what the status of a value with its derived ones depends on,
// as far as a refresh changes it.
type appearance struct {
	itself  uint64
	derived uint64 // a sum over the derived values, in no order
}

func look(n *graph.Node) appearance {
	a := appearance{itself: facts(n)}
	for child := range n.Derived {
		a.derived += hash(child.Key) * (facts(child) + 1)
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

// hash is FNV-1a.
func hash(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return h
}

// compare reports a value that does not look as before.
func (r *Refresher) compare(n *graph.Node, before appearance) {
	if look(n) != before {
		r.Observer.Changed(n.Key)
	}
}
