package plan

import (
	"hash/maphash"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/places"
)

// fresh finds nodes by key; see package places.
type fresh struct {
	seed   maphash.Seed
	byHash places.Table // of places in nodes
	nodes  []*node
}

// grow makes room for n nodes.
func (f *fresh) grow(n int) {
	f.byHash.Grow(n)
	f.nodes = slices.Grow(f.nodes, n)
}

// find returns the node of a key, nil if there is none.
func (f *fresh) find(key string) *node {
	if len(f.nodes) == 0 {
		return nil
	}
	for s := f.byHash.Search(f.hash(key)); ; {
		place, ok := f.byHash.Next(&s)
		if !ok {
			return nil
		}
		if n := f.nodes[place]; n.key == key {
			return n
		}
	}
}

// add adds a node whose key is not there.
func (f *fresh) add(n *node) {
	if len(f.nodes) == 0 {
		f.seed = maphash.MakeSeed()
	}
	f.byHash.Add(f.hash(n.key), int32(len(f.nodes)))
	f.nodes = append(f.nodes, n)
}

func (f *fresh) hash(key string) uint32 { return uint32(maphash.String(f.seed, key)) }

func newKeys(changes []Change) (count int) {
	for i := range changes {
		if c := &changes[i]; c.Node == nil && c.Want != nil {
			count += 1 + len(c.Want.Derived)
		}
	}
	return count
}
