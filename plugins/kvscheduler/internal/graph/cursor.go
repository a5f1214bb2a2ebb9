package graph

// Cursor finds the nodes of many keys. As long as these come in order it walks
// along the sorted nodes, which costs less than to look for each: what lies
// side by side is read together, and that a key has no node is seen at once.
type Cursor struct {
	g        *Graph
	walks    bool
	last     string   // the latest key that came in order
	nodes    []*Node  // from some key on, without a gap
	keys     []string // of nodes
	at       int      // the nodes before it have keys up to last
	end      bool     // no nodes follow
	inserted uint32   // see Graph; when nodes was filled
}

const (
	// stride is how many nodes a cursor reads at a time.
	stride = 128
	// sparse is how many times more nodes than keys there may be; if there are
	// even more, each key is looked for.
	sparse = 4
)

// Cursor returns a cursor for about so many keys.
func (g *Graph) Cursor(keys int) *Cursor {
	return &Cursor{g: g, walks: keys > sparse && keys >= g.Len()/sparse}
}

// Node is Graph.Node.
func (c *Cursor) Node(key string) *Node {
	if !c.walks || key <= c.last {
		return c.g.Node(key)
	}
	c.last = key
	for {
		for ; c.at < len(c.nodes); c.at++ {
			switch k := c.keys[c.at]; {
			case k < key:
			case k == key && !c.nodes[c.at].Gone:
				return c.nodes[c.at]
			default:
				return c.absent(key)
			}
		}
		if c.end {
			return c.absent(key)
		}
		c.fill(key)
	}
}

// absent finds the node of a key that was not there when the cursor came by.
func (c *Cursor) absent(key string) *Node {
	if c.inserted == c.g.inserted {
		return nil
	}
	return c.g.Node(key)
}

// fill reads the nodes from a key on.
func (c *Cursor) fill(key string) {
	c.nodes, c.keys, c.at = c.nodes[:0], c.keys[:0], 0
	for n := range c.g.From(key) {
		if c.nodes = append(c.nodes, n); len(c.nodes) == stride {
			break
		}
	}
	for _, n := range c.nodes { // one after the other, so that the processor waits for several at once
		c.keys = append(c.keys, n.Key)
	}
	c.end, c.inserted = len(c.nodes) < stride, c.g.inserted
}
