package status

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// maxNeighbours is the number of neighbours of one descriptor up to which each of them
// is a node; more are a group.
const maxNeighbours = 12

// maxExpanded is the number of values derived from a value up to which their
// neighbours are drawn with its own.
const maxExpanded = 24

// Draw returns a graph of values and their relations.
func (r *Reader) Draw(req api.DrawingRequest) api.Drawing {
	if req.Key != "" {
		return r.neighbourhood(req.Key)
	}
	var nodes []*graph.Node
	descriptors := map[*registry.Descriptor]bool{}
	r.each(req.ValueFilter, "", func(n *graph.Node, _ api.ValueState) bool {
		nodes = append(nodes, n)
		descriptors[n.Desc] = true
		return true
	})
	d := newDrawing(r)
	d.out.Values, d.out.Grouped = len(nodes), len(nodes) > req.Limit
	switch {
	case !d.out.Grouped:
		for _, n := range nodes {
			d.single(n)
		}
	case len(descriptors) > 1:
		d.byDescriptor(nodes)
	default:
		d.byPrefix(nodes, groupPrefix(nodes, req.Limit))
	}
	for _, n := range nodes {
		d.relate(n)
	}
	return d.finish()
}

// neighbourhood draws a value and its derived values, with their dependencies and
// dependents.
func (r *Reader) neighbourhood(key string) api.Drawing {
	d := newDrawing(r)
	center := r.Graph.Node(key)
	if center == nil {
		return d.finish()
	}
	d.out.Values = 1
	d.single(center)
	expanded := []*graph.Node{center}
	for child := range center.Derived {
		expanded = append(expanded, child)
	}
	slices.SortFunc(expanded[1:], func(a, b *graph.Node) int { return strings.Compare(a.Key, b.Key) })
	for _, n := range expanded[:min(len(expanded), maxExpanded)] {
		d.relate(n)
		from := func(dependent *graph.Node) {
			if dependent != n {
				d.link(dependent, end{node: n}, api.RelationDependsOn, "", true)
			}
		}
		r.Graph.NamingNode(n, from)
		r.Graph.AnyOfDependents(n.Key, func(graph.KeyPattern) bool { return false }, from)
	}
	return d.finish()
}

// groupPrefix returns a function that maps keys, which are sorted, to at most limit
// prefixes: as many elements of the path as possible, or characters if the next element
// alone has more than limit different values.
func groupPrefix(nodes []*graph.Node, limit int) func(key string) string {
	first, last := nodes[0].Key, nodes[len(nodes)-1].Key
	common := 0
	for common < min(len(first), len(last)) && first[common] == last[common] {
		common++
	}
	start := strings.LastIndexByte(first[:common], '/') + 1
	best := func(string) string { return first[:common] }
	for elements := 1; ; elements++ {
		cut := func(key string) string { return cutElements(key, start, elements) }
		n, whole := countPrefixes(nodes, cut, limit)
		if n > limit || whole {
			break
		}
		best = cut
	}
	if n, _ := countPrefixes(nodes, best, 2); n > 1 {
		return best
	}
	for length := common + 1; ; length++ {
		cut := func(key string) string { return key[:min(length, len(key))] }
		if n, whole := countPrefixes(nodes, cut, limit); n > limit || whole {
			return best
		}
		best = cut
	}
}

// cutElements returns a key up to so many elements of its path behind an index.
func cutElements(key string, start, elements int) string {
	at := start
	for range elements {
		i := strings.IndexByte(key[at:], '/')
		if i < 0 {
			return key
		}
		at += i + 1
	}
	return key[:at]
}

// countPrefixes counts the different prefixes of keys, up to one more than a limit. whole
// reports that one of them is a whole key.
func countPrefixes(nodes []*graph.Node, cut func(string) string, limit int) (n int, whole bool) {
	last := ""
	for _, node := range nodes {
		if p := cut(node.Key); n == 0 || p != last {
			if n++; n > limit || p == node.Key {
				return n, p == node.Key
			}
			last = p
		}
	}
	return n, false
}

// end is the end of an edge: a value, or a key or a pattern without a value.
type end struct {
	node    *graph.Node
	missing string
}

// box is a node of the drawing.
type box struct {
	api.DrawnNode
	counts map[api.ValueState]int
}

type edgeID struct {
	from, to *box
	relation string
}

// link is a relation with a neighbour, which gets its box at the end.
type link struct {
	from, to end
	relation string
	label    string
	met      bool
}

// drawing builds a graph.
type drawing struct {
	r     *Reader
	out   api.Drawing
	boxes map[string]*box // by ID
	of    []*box          // by the numbers of the values; nil: none
	edges map[edgeID]*api.DrawnEdge
	links []link
}

func newDrawing(r *Reader) *drawing {
	return &drawing{r: r, boxes: map[string]*box{}, of: make([]*box, r.Graph.Len()), edges: map[edgeID]*api.DrawnEdge{}}
}

// boxOf returns the box of a value; nil if it has none, or for nil.
func (d *drawing) boxOf(n *graph.Node) *box {
	if n == nil || int(n.Number) >= len(d.of) {
		return nil
	}
	return d.of[int(n.Number)]
}

// box returns the box with the ID of a node, which it adds if there is none.
func (d *drawing) box(node api.DrawnNode) *box {
	b := d.boxes[node.ID]
	if b == nil {
		b = &box{node, map[api.ValueState]int{}}
		d.boxes[node.ID] = b
	}
	return b
}

// join adds a value to a box.
func (d *drawing) join(n *graph.Node, b *box) {
	for int(n.Number) >= len(d.of) {
		d.of = append(d.of, nil)
	}
	d.of[int(n.Number)] = b
	b.Values++
	b.counts[plan.State(n)]++
}

// single adds a box for one value.
func (d *drawing) single(n *graph.Node) *box {
	b := d.box(api.DrawnNode{ID: n.Key, Key: n.Key, Label: n.Desc.Label(n.Key), Descriptor: n.Desc.NameOf(), Owner: n.Owner.String()})
	d.join(n, b)
	return b
}

// byDescriptor adds a box for the values of each descriptor.
func (d *drawing) byDescriptor(nodes []*graph.Node) {
	boxes := map[*registry.Descriptor]*box{}
	for _, n := range nodes {
		b := boxes[n.Desc]
		if b == nil {
			name := n.Desc.NameOf()
			b = d.box(api.DrawnNode{ID: "descriptor " + name, Label: name, Descriptor: name})
			boxes[n.Desc] = b
		}
		d.join(n, b)
	}
}

// byPrefix adds a box for the values of each prefix.
func (d *drawing) byPrefix(nodes []*graph.Node, prefix func(key string) string) {
	var b *box
	for _, n := range nodes {
		if p := prefix(n.Key); b == nil || p != b.Prefix {
			b = d.box(api.DrawnNode{ID: "prefix " + p, Prefix: p, Label: p, Descriptor: n.Desc.NameOf()})
		}
		d.join(n, b)
	}
}

// relate adds the relations of a value to what it depends on, to its base value and to
// its derived values.
func (d *drawing) relate(n *graph.Node) {
	v := cmp.Or(n.Have, n.Want)
	if v != nil {
		for i := range v.Deps {
			dep := &v.Deps[i]
			to := end{node: d.r.target(n, v, i)}
			if to.node == nil || plan.State(to.node) == kvscheduler.ValueState_NONEXISTENT {
				to = end{missing: dep.Name()}
			}
			d.link(n, to, api.RelationDependsOn, label(dep), d.r.provides(to.node))
		}
	}
	if n.Base != nil && d.boxOf(n.Base) == nil {
		d.link(n.Base, end{node: n}, api.RelationDerives, "", true)
	}
	for child := range n.Derived {
		d.link(n, end{node: child}, api.RelationDerives, "", true)
	}
}

// target returns the value that a dependency leads to, or nil.
func (r *Reader) target(n *graph.Node, v *registry.Value, i int) *graph.Node {
	if to, known := n.Exact(v, i); known {
		return to
	}
	dep := &v.Deps[i]
	if dep.Key != "" {
		return r.Graph.Node(dep.Key)
	}
	return r.provider(dep)
}

// link adds a relation. If one of the ends has no box yet, the relation waits for it.
func (d *drawing) link(from *graph.Node, to end, relation, label string, met bool) {
	l := link{end{node: from}, to, relation, label, met}
	if a, b := d.boxOf(from), d.boxOf(to.node); a != nil && b != nil {
		d.edge(a, b, l)
		return
	}
	d.links = append(d.links, l)
}

func (d *drawing) edge(from, to *box, l link) {
	if from == to {
		return
	}
	id := edgeID{from, to, l.relation}
	e := d.edges[id]
	if e == nil {
		e = &api.DrawnEdge{From: from.ID, To: to.ID, Relation: l.relation, Label: l.label}
		d.edges[id] = e
	}
	e.Count++
	if !l.met {
		e.Unmet++
	}
}

// finish adds the neighbours and returns the graph.
func (d *drawing) finish() api.Drawing {
	missing := d.addNeighbours()
	for _, l := range d.links {
		to := d.boxOf(l.to.node)
		if l.to.node == nil {
			to = missing[l.to.missing]
		}
		d.edge(d.boxOf(l.from.node), to, l)
	}
	for _, b := range d.boxes {
		b.States = make(map[string]int, len(b.counts))
		for state, n := range b.counts {
			b.States[state.String()] = n
		}
		d.out.Nodes = append(d.out.Nodes, b.DrawnNode)
	}
	for _, e := range d.edges {
		d.out.Edges = append(d.out.Edges, *e)
	}
	slices.SortFunc(d.out.Nodes, func(a, b api.DrawnNode) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.out.Edges, func(a, b api.DrawnEdge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.Relation, b.Relation))
	})
	return d.out
}

// addNeighbours adds boxes for the ends of relations that have none, and returns the
// boxes of keys without values.
func (d *drawing) addNeighbours() (missing map[string]*box) {
	missing = map[string]*box{}
	seen := map[*graph.Node]bool{}
	byDescriptor := map[*registry.Descriptor][]*graph.Node{}
	for _, l := range d.links {
		for _, e := range []end{l.from, l.to} {
			switch {
			case e.node == nil:
				missing[e.missing] = nil
			case d.boxOf(e.node) == nil && !seen[e.node]:
				seen[e.node] = true
				byDescriptor[e.node.Desc] = append(byDescriptor[e.node.Desc], e.node)
			}
		}
	}
	for desc, nodes := range byDescriptor {
		name := desc.NameOf()
		for _, n := range nodes {
			if len(nodes) <= maxNeighbours {
				d.single(n).Neighbour = true
			} else {
				d.join(n, d.box(api.DrawnNode{ID: "neighbours " + name, Label: name, Descriptor: name, Neighbour: true}))
			}
		}
	}
	for key := range missing {
		node := api.DrawnNode{ID: "missing " + key, Key: key, Label: key, Neighbour: true}
		if len(missing) > maxNeighbours {
			node = api.DrawnNode{ID: "missing", Label: "missing values", Neighbour: true}
		}
		b := d.box(node)
		b.Values++
		b.counts[kvscheduler.ValueState_NONEXISTENT]++
		missing[key] = b
	}
	return missing
}
