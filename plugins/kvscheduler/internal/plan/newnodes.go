package plan

import (
	"hash/maphash"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/hashindex"
)

// newNodes finds nodes that are not in the graph by key; see package hashindex.
type newNodes struct {
	seed   maphash.Seed
	byHash hashindex.Table // of places in nodes
	nodes  []*node
}

// grow makes room for n nodes.
func (nn *newNodes) grow(n int) {
	nn.byHash.Grow(n)
	nn.nodes = slices.Grow(nn.nodes, n)
}

// find returns the node of a key, nil if there is none.
func (nn *newNodes) find(key string) *node {
	if len(nn.nodes) == 0 {
		return nil
	}
	for s := nn.byHash.Search(nn.hash(key)); ; {
		place, ok := nn.byHash.Next(&s)
		if !ok {
			return nil
		}
		if n := nn.nodes[place]; n.key == key {
			return n
		}
	}
}

// add adds a node whose key is not there.
func (nn *newNodes) add(n *node) {
	if len(nn.nodes) == 0 {
		nn.seed = maphash.MakeSeed()
	}
	nn.byHash.Add(nn.hash(n.key), int32(len(nn.nodes)))
	nn.nodes = append(nn.nodes, n)
}

func (nn *newNodes) hash(key string) uint32 { return uint32(maphash.String(nn.seed, key)) }

func newKeys(changes []Change) (count int) {
	for i := range changes {
		if c := &changes[i]; c.Node == nil && c.Want != nil {
			count += 1 + len(c.Want.Derived)
		}
	}
	return count
}
