package render

import (
	"bufio"
	"fmt"
	"html"
	"io"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// SVG draws the graph as an SVG image with the meaning of DOT; the layout is
// our own. The error is that of the writer.
func SVG(w io.Writer, nodes []api.GraphNode, opts Options) error {
	d := newDrawing(nodes, opts)
	width, height := d.layout()
	notes := d.notes()
	p := svgPrinter{bufio.NewWriter(w)}
	height += float64(len(notes)) * 18
	p.f(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="monospace" font-size="10">`+"\n",
		width, height, width, height)
	p.f(`<defs>`)
	for _, color := range []string{"black", "red", "slateblue"} {
		p.f(`<marker id="%s" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="%s"/></marker>`,
			color, color)
	}
	p.f("</defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	p.legend(d)
	for _, e := range d.edges {
		p.edge(d, e)
	}
	for _, b := range d.boxes {
		p.box(d, b)
	}
	for i, note := range notes {
		p.f(`<text x="%.0f" y="%.0f" font-size="12">%s</text>`+"\n",
			margin, height-float64(len(notes)-i)*18+8, html.EscapeString(note))
	}
	p.f("</svg>\n")
	return p.w.Flush()
}

// svgPrinter writes; bufio.Writer keeps the first error until Flush.
type svgPrinter struct{ w *bufio.Writer }

func (p svgPrinter) f(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// legend explains the colours of the states that occur.
func (p svgPrinter) legend(d *drawing) {
	counts, executed := map[api.ValueState]int{}, 0
	for _, b := range d.boxes {
		switch {
		case b.executed:
			executed++
		case !b.placeholder:
			counts[b.state]++
		}
	}
	x := margin
	entry := func(color, text string) {
		p.f(`<rect x="%.1f" y="12" width="12" height="12" fill="%s" stroke="gray"/><text x="%.1f" y="22">%s</text>`+"\n",
			x, color, x+17, html.EscapeString(text))
		x += 17 + float64(len(text))*charWidth + 18
	}
	if executed > 0 {
		entry(executedColor, fmt.Sprintf("changed by the transaction: %d", executed))
	}
	for _, s := range palette() {
		if n := counts[s.state]; n > 0 {
			entry(s.color, fmt.Sprintf("%v: %d", s.state, n))
		}
	}
}

func (p svgPrinter) edge(d *drawing, e edge) {
	from, to := d.boxes[e.from], d.boxes[e.to]
	x1, y1 := from.x+from.width, from.y+boxHeight/2
	x2, y2 := to.x, to.y+boxHeight/2
	bend := max(30, (x2-x1)/2)
	if to.x < x1 { // within a cycle: leave and enter on the right
		x2, bend = to.x+to.width, 40
		p.path(e, x1, y1, x1+bend, y1, x2+bend, y2, x2, y2)
		return
	}
	p.path(e, x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
}

func (p svgPrinter) path(e edge, c ...float64) {
	dash := ""
	if e.derives {
		dash = ` stroke-dasharray="4 3"`
	}
	p.f(`<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" stroke="%s"%s marker-end="url(#%s)"><title>%s</title></path>`+"\n",
		c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], e.color(), dash, e.color(), html.EscapeString(e.label))
}

func (p svgPrinter) box(d *drawing, b *box) {
	linked := d.opts.Href != nil && !b.placeholder
	if linked {
		p.f(`<a href="%s">`, html.EscapeString(d.opts.Href(b.key)))
	}
	stroke := `stroke="gray"`
	if b.placeholder {
		stroke = `stroke="red" stroke-dasharray="4 3"`
	}
	p.f(`<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="3" fill="%s" %s/>`,
		html.EscapeString(b.tooltip), b.x, b.y, b.width, boxHeight, b.fill(), stroke)
	p.f(`<text x="%.1f" y="%.1f">%s</text><text x="%.1f" y="%.1f" fill="dimgray">%s</text></g>`,
		b.x+boxPadding, b.y+12, html.EscapeString(shorten(b.label)),
		b.x+boxPadding, b.y+25, html.EscapeString(caption(b)))
	if linked {
		p.f(`</a>`)
	}
	p.f("\n")
}
