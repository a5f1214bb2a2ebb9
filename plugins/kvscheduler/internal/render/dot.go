package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// DOT writes the graph in the language of Graphviz: a box for every value,
// grouped by descriptor and coloured by state, an arrow from a value to what
// it depends on (red if that is not met) and to what is derived from it. The
// error is that of the writer.
func DOT(w io.Writer, nodes []api.GraphNode, opts Options) error {
	d := newDrawing(nodes, opts)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph kvscheduler {\n")
	fmt.Fprintf(b, "\tgraph [rankdir=LR, bgcolor=white, fontname=Arial, fontsize=12, labelloc=b, labeljust=l, label=%s];\n",
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
