package topology

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/topology/response"
)

// look is how a node or link of a kind is drawn: in Graphviz and in Mermaid.
type look struct {
	shape       string // of Graphviz
	open, close string // of Mermaid
}

var shapes = map[string]look{
	response.Interface: {"box", "[", "]"}, response.Bond: {"box3d", "[[", "]]"}, response.BridgeDomain: {"octagon", "{{", "}}"},
	response.VRF: {"ellipse", "([", "])"}, response.FarEnd: {"house", "((", "))"}, response.Memif: {"cylinder", "[(", ")]"}, response.HostLink: {"box", "[", "]"},
}

// lines are the lines of links: the style of Graphviz and the line of Mermaid.
var lines = map[string]struct{ dot, mermaid string }{
	response.Cable: {"bold", "==="}, response.Tunnel: {"dashed", "-.-"}, response.Mirror: {"dotted", "-.->"}, response.CrossConnect: {"solid", "-->"},
	response.Unnumbered: {"dotted", "-.->"}, response.Over: {"solid", "-->"},
}

// pens are the colours of states, which can be read on white and on black.
var pens = map[string]string{
	response.Up: "#17803f", response.Down: "#7a8494", response.Waiting: "#b37400", response.Missing: "#c2410c", response.Failed: "#c81e28",
}

var signs = map[string]string{response.Appears: "+ ", response.Changes: "~ ", response.Goes: "- "}

// caption returns the lines of text in a node. States other than up are words too.
func caption(n response.Node) []string {
	text := []string{signs[n.Change] + n.Label}
	if n.Type != "" {
		text = append(text, n.Type)
	}
	switch {
	case n.Count > 0:
		for _, state := range response.States {
			if count := n.States[state]; count > 0 {
				text = append(text, fmt.Sprintf("%d %s", count, state))
			}
		}
	case n.State != response.Up:
		text = append(text, n.State)
	}
	return text
}

// label returns the text at a link.
func label(l response.Link) string {
	text := signs[l.Change]
	if l.Kind != response.Member && l.Kind != response.InVRF {
		text += l.Kind
	}
	if l.Count > 1 {
		text += fmt.Sprintf(" x%d", l.Count)
	}
	if l.State != response.Up {
		text += " " + l.State
	}
	return strings.TrimSpace(text)
}

// dot returns a picture in the DOT language of Graphviz.
func dot(n response.Network) string {
	var b strings.Builder
	b.WriteString("graph network {\n  rankdir=LR\n  node [fontname=\"sans-serif\"]\n  edge [fontname=\"sans-serif\", fontsize=10]\n")
	ids := numbers(n)
	write := func(box, indent string) {
		for _, node := range n.Nodes {
			if node.Box == box {
				fmt.Fprintf(&b, "%s%s [label=%s, shape=%s, color=%q, style=%s, tooltip=%s]\n", indent, ids[node.ID], dotQuote(strings.Join(caption(node), "\n")),
					shapes[node.Kind].shape, pens[node.State], dotStyle(node), dotQuote(node.ID+" "+node.State+" "+node.Reason))
			}
		}
	}
	for i, box := range n.Boxes {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s\n", i, dotQuote(box.Label))
		write(box.ID, "    ")
		b.WriteString("  }\n")
	}
	write("", "  ")
	for _, l := range n.Links {
		style := lines[l.Kind].dot
		if style == "" {
			style = "solid"
		}
		fmt.Fprintf(&b, "  %s -- %s [label=%s, style=%s, color=%q]\n", ids[l.From], ids[l.To], dotQuote(label(l)), style, pens[l.State])
	}
	b.WriteString("}\n")
	return b.String()
}

func dotStyle(n response.Node) string {
	if n.State == response.Up && n.Kind != response.HostLink {
		return "solid"
	}
	return "dashed"
}

// dotQuote makes a quoted string of DOT.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// mermaid returns a picture in the language of Mermaid.
func mermaid(n response.Network) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := numbers(n)
	write := func(box, indent string) {
		for _, node := range n.Nodes {
			if node.Box == box {
				at := shapes[node.Kind]
				fmt.Fprintf(&b, "%s%s%s%s%s:::%s\n", indent, ids[node.ID], at.open, mermaidQuote(strings.Join(caption(node), "\n")), at.close, node.State)
			}
		}
	}
	for i, box := range n.Boxes {
		fmt.Fprintf(&b, "  subgraph b%d [%s]\n", i, mermaidQuote(box.Label))
		write(box.ID, "    ")
		b.WriteString("  end\n")
	}
	write("", "  ")
	for _, l := range n.Links {
		line := lines[l.Kind].mermaid
		if line == "" {
			line = "---"
		}
		if text := label(l); text != "" {
			line += "|" + mermaidQuote(text) + "|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", ids[l.From], line, ids[l.To])
	}
	for _, state := range response.States {
		dash := ""
		if state != response.Up {
			dash = ",stroke-dasharray:5 3"
		}
		fmt.Fprintf(&b, "  classDef %s stroke:%s,stroke-width:2px%s\n", state, pens[state], dash)
	}
	return b.String()
}

// mermaidQuote makes a quoted string of Mermaid, which has no escapes but entities.
func mermaidQuote(s string) string {
	return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\n", "<br>").Replace(s) + `"`
}

// numbers returns short names of the nodes, which need no quotes.
func numbers(n response.Network) map[string]string {
	ids := map[string]string{}
	for i, node := range n.Nodes {
		ids[node.ID] = fmt.Sprintf("n%d", i)
	}
	return ids
}
