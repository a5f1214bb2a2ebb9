// Package dag has the algorithms on directed graphs that planning, execution and
// explanations share: strongly connected components and a priority queue.
package dag

// SCC finds strongly connected components with Tarjan's algorithm. It does not recurse,
// so long chains do not exhaust the stack, and each node is visited once, however often
// Visit is called. Nodes have small numbers. An SCC is not safe for concurrent use.
type SCC struct {
	// Next appends to out the nodes that a node has an edge to.
	Next func(out []int32, node int32) []int32
	// Found receives each component after those that it leads to. cyclic reports that
	// its nodes lead to themselves. The slice is valid during the call.
	Found func(nodes []int32, cyclic bool)

	pages []*[pageSize]visit // by node; nil where no node was visited
	count int32
	stack []int32 // nodes whose component is not complete
	edges []int32 // of all open frames, one after the other
}

// pageSize is the number of nodes in a page. Pages save memory when few of many nodes
// are visited.
const pageSize = 1024

type visit struct {
	number int32 // in the order of visits; 0: not visited
	low    int32 // the least number that the node leads to
	open   bool  // on the stack
}

func (s *SCC) at(node int32) *visit {
	page := int(node / pageSize)
	for page >= len(s.pages) {
		s.pages = append(s.pages, nil)
	}
	if s.pages[page] == nil {
		s.pages[page] = new([pageSize]visit)
	}
	return &s.pages[page][node%pageSize]
}

// Forget makes the next Visit that reaches the node visit it again. All nodes of its
// component must be forgotten.
func (s *SCC) Forget(node int32) { *s.at(node) = visit{} }

// frame is a visit that has not ended. Its edges begin at first, and end where the
// edges of the following frame begin.
type frame struct {
	node        int32
	first, next int
}

func (s *SCC) enter(node int32) frame {
	s.count++
	*s.at(node) = visit{number: s.count, low: s.count, open: true}
	s.stack = append(s.stack, node)
	f := frame{node, len(s.edges), len(s.edges)}
	s.edges = s.Next(s.edges, node)
	return f
}

// Visit finds the components of the node and of all that it leads to, unless they were
// found before.
func (s *SCC) Visit(node int32) {
	if s.at(node).number != 0 {
		return
	}
	frames := []frame{s.enter(node)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.next < len(s.edges) {
			to := s.edges[f.next]
			f.next++
			if seen := s.at(to); seen.number == 0 {
				frames = append(frames, s.enter(to))
			} else if seen.open {
				v := s.at(f.node)
				v.low = min(v.low, seen.number)
			}
			continue
		}
		v := *s.at(f.node)
		if v.low == v.number {
			s.found(*f)
		}
		s.edges = s.edges[:f.first]
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := s.at(frames[len(frames)-1].node)
			parent.low = min(parent.low, v.low)
		}
	}
}

// found takes a component off the stack.
func (s *SCC) found(root frame) {
	first := len(s.stack) - 1 // the root is near the end
	for s.stack[first] != root.node {
		first--
	}
	nodes := s.stack[first:]
	cyclic := len(nodes) > 1
	for _, node := range nodes {
		s.at(node).open = false
	}
	for _, to := range s.edges[root.first:] {
		cyclic = cyclic || to == root.node
	}
	s.Found(nodes, cyclic)
	s.stack = s.stack[:first]
}
