package graph

// LastError is the error of the last attempt to create a value that now waits for what it
// depends on; nil if there was none.
func (g *Graph) LastError(n *Node) error { return g.lastErrors[n] }

// SetLastError remembers an error; nil forgets it.
func (g *Graph) SetLastError(n *Node, err error) {
	if err == nil {
		delete(g.lastErrors, n)
	} else {
		g.lastErrors[n] = err
	}
}
