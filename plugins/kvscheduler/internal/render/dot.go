// Package render writes the graph of values in the DOT language of Graphviz, and
// the explanation of a state as a text tree.
package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// DOT writes the graph in the language of Graphviz: a box for every value,
// grouped by descriptor and coloured by state, an arrow from a value to its
// dependencies (red if not met) and to its derived values. A graph that is only
// a part says so in its first line and above the picture. It returns the
// writer's error.
func DOT(w io.Writer, nodes []api.GraphNode, opts Options) error {
	d := newDrawing(nodes, opts)
	b := bufio.NewWriter(w)
	if partial := d.partial(); partial != "" {
		fmt.Fprintf(b, "// %s\n", partial) // for readers of the text
	}
	fmt.Fprintf(b, "digraph kvscheduler {\n")
	fmt.Fprintf(b, "\tgraph [rankdir=LR, bgcolor=white, fontname=Arial, fontsize=12, labelloc=t, labeljust=l, label=%s];\n",
		quote(strings.Join(d.notes(), "\n")))
	fmt.Fprintf(b, "\tnode [shape=box, style=filled, fontname=Courier, fontsize=9, height=0.26];\n")
	fmt.Fprintf(b, "\tedge [fontname=Arial, fontsize=8];\n")
	groups, names := map[string][]*box{}, []string(nil)
	for _, x := range d.boxes {
		if groups[x.descriptor] == nil {
			names = append(names, x.descriptor)
		}
		groups[x.descriptor] = append(groups[x.descriptor], x)
	}
	slices.Sort(names)
	for _, name := range names {
		indent := "\t"
		if name != "" {
			fmt.Fprintf(b, "\tsubgraph %s {\n\t\tgraph [label=%s, style=filled, fillcolor=\"#e6ecfa\", fontsize=10, labelloc=t];\n",
				quote("cluster_"+name), quote("< "+name+" >"))
			indent = "\t\t"
		}
		for _, x := range groups[name] {
			fmt.Fprintf(b, "%s%s [%s];\n", indent, quote(x.key), d.attributes(x))
		}
		if name != "" {
			fmt.Fprintf(b, "\t}\n")
		}
	}
	for _, e := range d.edges {
		fmt.Fprintf(b, "\t%s -> %s [color=%s, tooltip=%s%s];\n", quote(d.boxes[e.from].key), quote(d.boxes[e.to].key),
			e.color(), quote(e.label), map[bool]string{true: ", style=dashed"}[e.derives])
	}
	fmt.Fprintf(b, "}\n")
	return b.Flush()
}

func (d *drawing) attributes(x *box) string {
	attrs := []string{"label=" + quote(x.label), "fillcolor=" + x.fill(), "tooltip=" + quote(x.tooltip)}
	if x.placeholder {
		attrs = append(attrs, "color=red", `style="filled,dashed"`)
	} else if d.opts.Href != nil {
		attrs = append(attrs, "href="+quote(d.opts.Href(x.key)))
	}
	return strings.Join(attrs, ", ")
}

// quote makes a quoted DOT string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// DefaultMaxNodes is the default of Options.MaxNodes; a larger picture is unreadable.
const DefaultMaxNodes = 2000

// maxFan limits the drawn keys that match one dependency.
const maxFan = 20

// Options of a picture.
type Options struct {
	// Title is written below the picture.
	Title string
	// Executed are the keys that a transaction changed; their boxes are gold.
	Executed map[string]bool
	// MaxNodes limits the number of values; 0 is DefaultMaxNodes. Executed values, failed
	// values and values that wait come first, then their neighbours.
	MaxNodes int
	// Href returns the link of a value; nil leaves links out.
	Href func(key string) string
	// Time of the graph, for the notes; zero: now, which is not written.
	Time time.Time
}

// drawing is the graph to write: boxes and arrows between them.
type drawing struct {
	boxes []*box
	edges []edge
	total int // values in the graph
	shown int
	opts  Options
}

// box is a value, or a placeholder for one that does not exist.
type box struct {
	key, label, descriptor, tooltip string
	state                           api.ValueState
	placeholder, executed           bool
}

type edge struct {
	from, to       int // indexes of boxes
	label          string
	derives, unmet bool
}

func newDrawing(nodes []api.GraphNode, opts Options) *drawing {
	if opts.MaxNodes <= 0 {
		opts.MaxNodes = DefaultMaxNodes
	}
	d := &drawing{total: len(nodes), opts: opts}
	index := map[string]int{}
	shown := d.choose(nodes)
	d.shown = len(shown)
	for _, n := range shown {
		index[n.Key] = len(d.boxes)
		d.boxes = append(d.boxes, &box{
			key: n.Key, label: labelOf(n), descriptor: n.Descriptor, state: n.State,
			tooltip: tooltip(n), executed: opts.Executed[n.Key],
		})
	}
	exists := make(map[string]bool, len(nodes))
	for i := range nodes {
		exists[nodes[i].Key] = true
	}
	for _, n := range shown {
		for _, target := range n.Targets {
			d.connect(index, exists, n.Key, target)
		}
	}
	return d
}

func labelOf(n *api.GraphNode) string { return cmp.Or(n.Label, n.Key) }

func tooltip(n *api.GraphNode) string {
	lines := []string{fmt.Sprintf("[%v] %s", n.State, n.Key)}
	if n.Error != "" {
		lines = append(lines, "error: "+n.Error)
	}
	for _, t := range n.Targets {
		if t.Relation == api.RelationDependsOn && !t.Satisfied {
			lines = append(lines, "waits for "+t.Label)
		}
	}
	return strings.Join(lines, "\n")
}

// connect adds the edges of one relation. Keys outside the picture are left
// out, keys that exist nowhere get a placeholder.
func (d *drawing) connect(index map[string]int, exists map[string]bool, from string, t api.GraphEdge) {
	add := func(key string, placeholder bool) {
		to, ok := index[key]
		if !ok {
			if !placeholder {
				return
			}
			to = len(d.boxes)
			index[key] = to
			d.boxes = append(d.boxes, &box{key: key, label: key, placeholder: true, tooltip: "does not exist: " + key})
		}
		derives := t.Relation == api.RelationDerives
		d.edges = append(d.edges, edge{index[from], to, t.Label, derives, !derives && !t.Satisfied})
	}
	for _, key := range t.Keys[:min(len(t.Keys), maxFan)] {
		add(key, !exists[key])
	}
	if len(t.Keys) == 0 {
		for _, prefix := range t.AnyOf {
			add(prefix+"*", true)
		}
		if len(t.AnyOf) == 0 {
			add("any: "+t.Label, true)
		}
	}
}

// choose returns the values to draw, sorted by key.
func (d *drawing) choose(nodes []api.GraphNode) []*api.GraphNode {
	chosen := make(map[string]*api.GraphNode, min(len(nodes), d.opts.MaxNodes))
	byKey := make(map[string]*api.GraphNode, len(nodes))
	for i := range nodes {
		byKey[nodes[i].Key] = &nodes[i]
	}
	add := func(n *api.GraphNode) {
		if n != nil && len(chosen) < d.opts.MaxNodes {
			chosen[n.Key] = n
		}
	}
	for _, first := range []func(*api.GraphNode) bool{
		func(n *api.GraphNode) bool { return d.opts.Executed[n.Key] },
		func(n *api.GraphNode) bool { return !sound(n.State) },
		func(*api.GraphNode) bool { return true },
	} {
		var added []*api.GraphNode
		for i := range nodes {
			if n := &nodes[i]; chosen[n.Key] == nil && first(n) {
				add(n)
				added = append(added, n)
			}
		}
		for _, n := range added {
			addNeighbours(n, byKey, add)
		}
	}
	picked := make([]*api.GraphNode, 0, len(chosen))
	for _, n := range chosen {
		picked = append(picked, n)
	}
	slices.SortFunc(picked, func(a, b *api.GraphNode) int { return strings.Compare(a.Key, b.Key) })
	return picked
}

func addNeighbours(n *api.GraphNode, byKey map[string]*api.GraphNode, add func(*api.GraphNode)) {
	add(byKey[n.Base])
	for _, t := range n.Targets {
		for _, key := range t.Keys[:min(len(t.Keys), maxFan)] {
			add(byKey[key])
		}
	}
}

// sound reports whether a value has its desired state.
func sound(s api.ValueState) bool {
	return s == pb.ValueState_CONFIGURED || s == pb.ValueState_OBTAINED
}

// partial says that the graph is a part; it is empty if the graph is complete.
func (d *drawing) partial() string {
	if d.shown == d.total {
		return ""
	}
	return fmt.Sprintf("Only %d of %d values are drawn: changed and troubled ones and their neighbours first.", d.shown, d.total)
}

// notes are the lines above the picture.
func (d *drawing) notes() []string {
	var notes []string
	if d.opts.Title != "" {
		notes = append(notes, d.opts.Title)
	}
	count := fmt.Sprintf("%d values", d.total)
	if !d.opts.Time.IsZero() {
		count += " at " + d.opts.Time.UTC().Format(time.RFC3339Nano)
	}
	notes = append(notes, count)
	if partial := d.partial(); partial != "" {
		notes = append(notes, partial)
	}
	return notes
}

// colors are the fill colors of states; other states are white.
var colors = map[api.ValueState]string{
	pb.ValueState_CONFIGURED:    "palegreen",
	pb.ValueState_OBTAINED:      "lightcyan",
	pb.ValueState_DISCOVERED:    "lightblue",
	pb.ValueState_PENDING:       "khaki",
	pb.ValueState_MISSING:       "sandybrown",
	pb.ValueState_RETRYING:      "plum",
	pb.ValueState_FAILED:        "lightcoral",
	pb.ValueState_INVALID:       "orchid",
	pb.ValueState_UNIMPLEMENTED: "lightgray",
	pb.ValueState_REMOVED:       "gainsboro",
}

const executedColor = "gold"

func (b *box) fill() string {
	switch {
	case b.executed:
		return executedColor
	case b.placeholder:
		return "white"
	}
	return cmp.Or(colors[b.state], "white")
}

func (e edge) color() string {
	switch {
	case e.unmet:
		return "red"
	case e.derives:
		return "slateblue"
	default:
		return "black"
	}
}
