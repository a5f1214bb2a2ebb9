package graph

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Track makes the graph note which base values come into being, change or go,
// for a record of them outside of the graph; see Tracked.
func (g *Graph) Track() { g.track = true }

// Tracked returns the nodes of base values whose existence was set since it
// was last called, each once, in no order; some may be gone meanwhile.
func (g *Graph) Tracked() []*Node {
	news := g.news
	g.news = nil
	for _, n := range news {
		n.news = false
	}
	return news
}

// index puts the metadata where others look it up; indexes are functions of the
// descriptor.
func (n *Node) index(exists bool, meta api.Metadata) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("descriptor %q: an index of its metadata panicked: %v", n.Desc.Name, p)
		}
	}()
	if !exists {
		n.Desc.Metadata.Delete(n.Desc.Label(n.Key))
		return nil
	}
	return n.Desc.Metadata.Put(n.Desc.Label(n.Key), meta)
}
