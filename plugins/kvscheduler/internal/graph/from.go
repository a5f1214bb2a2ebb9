package graph

// From iterates over the nodes in the order of keys, from a key on, until
// yield returns false.
func (g *Graph) From(key string, yield func(*Node) bool) {
	g.sorted.AscendGreaterOrEqual(&Node{Key: key}, yield)
}
