package render

import (
	"cmp"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
)

// Geometry of the SVG, in pixels.
const (
	boxHeight  = 30.0
	rowHeight  = 40.0
	layerGap   = 90.0
	margin     = 20.0
	charWidth  = 6.1 // of the 10 px monospaced font
	maxChars   = 60  // longer labels are shortened
	boxPadding = 8.0
	legendTop  = 50.0
)

// layout places the boxes in layers from left to right, so that arrows lead
// to the right: the layer of a box is the longest way to it over boxes that do
// not depend on each other in a cycle. The cost is linear in boxes and edges,
// up to the sorting of each layer.
func (d *drawing) layout() (width, height float64) {
	connected, alone := d.layers()
	for range 3 {
		d.sweep(connected, func(b *box) []int { return b.in }, func(e edge) int { return e.from })
		slices.Reverse(connected)
		d.sweep(connected, func(b *box) []int { return b.out }, func(e edge) int { return e.to })
		slices.Reverse(connected)
	}
	x, tallest := margin, 0
	for _, layer := range connected {
		tallest = max(tallest, len(layer))
	}
	for _, layer := range connected {
		widest := d.placeColumn(layer, x, legendTop+float64(tallest-len(layer))*rowHeight/2)
		x += widest + layerGap
	}
	if len(connected) > 0 {
		x -= layerGap
	}
	bottom := legendTop + float64(tallest)*rowHeight
	right, bottom := d.placeGrid(alone, max(x, 900), bottom)
	return max(x, right) + margin, bottom + margin
}

// layers assigns layers; boxes without any edge are returned separately.
func (d *drawing) layers() (connected [][]int, alone []int) {
	component := d.components()
	layerOf := map[int]int{} // of components
	order := make([]int, len(d.boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return component[b] - component[a] })
	for _, i := range order {
		for _, e := range d.boxes[i].out {
			from, to := component[i], component[d.edges[e].to]
			if from != to {
				layerOf[to] = max(layerOf[to], layerOf[from]+1)
			}
		}
	}
	for i, b := range d.boxes {
		if len(b.in)+len(b.out) == 0 {
			alone = append(alone, i)
			continue
		}
		b.layer = layerOf[component[i]]
		if len(b.in) == 0 {
			b.layer = d.nearest(b, component, layerOf)
		}
		for len(connected) <= b.layer {
			connected = append(connected, nil)
		}
		b.order = len(connected[b.layer])
		connected[b.layer] = append(connected[b.layer], i)
	}
	return connected, alone
}

// nearest is the layer just before what b leads to: nothing leads to b, so it
// need not stay at the very left.
func (d *drawing) nearest(b *box, component []int, layerOf map[int]int) int {
	nearest := layerOf[component[d.edges[b.out[0]].to]]
	for _, e := range b.out {
		nearest = min(nearest, layerOf[component[d.edges[e].to]])
	}
	return max(0, nearest-1)
}

// components numbers the strongly connected components, those that lead to others last.
func (d *drawing) components() []int {
	component, found := make([]int, len(d.boxes)), 0
	s := dag.SCC{
		Next: func(out []int32, i int32) []int32 {
			for _, e := range d.boxes[i].out {
				out = append(out, int32(d.edges[e].to))
			}
			return out
		},
		Found: func(boxes []int32, _ bool) {
			for _, i := range boxes {
				component[i] = found
			}
			found++
		},
	}
	for i := range d.boxes {
		s.Visit(int32(i))
	}
	return component
}

// sweep sorts the boxes of every layer by the mean position of their
// neighbours, which leaves few arrows crossing.
func (d *drawing) sweep(layers [][]int, edges func(*box) []int, end func(edge) int) {
	for _, layer := range layers {
		weight := map[int]float64{}
		for _, i := range layer {
			b := d.boxes[i]
			weight[i] = float64(b.order)
			if near := edges(b); len(near) > 0 {
				sum := 0.0
				for _, e := range near {
					sum += float64(d.boxes[end(d.edges[e])].order)
				}
				weight[i] = sum / float64(len(near))
			}
		}
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
		for order, i := range layer {
			d.boxes[i].order = order
		}
	}
}

func (d *drawing) placeColumn(layer []int, x, y float64) (widest float64) {
	for _, i := range layer {
		b := d.boxes[i]
		b.width = boxWidth(b)
		b.x, b.y = x, y
		widest = max(widest, b.width)
		y += rowHeight
	}
	return widest
}

// placeGrid puts the boxes that are related to nothing below the others.
func (d *drawing) placeGrid(alone []int, limit, y float64) (right, bottom float64) {
	x := margin
	bottom = y
	if len(alone) > 0 {
		bottom += rowHeight
	}
	for _, i := range alone {
		b := d.boxes[i]
		b.width = boxWidth(b)
		if x > margin && x+b.width > limit {
			x, y, bottom = margin, y+rowHeight, bottom+rowHeight
		}
		b.x, b.y = x, y
		x += b.width + 12
		right = max(right, x)
	}
	return right, bottom
}

func boxWidth(b *box) float64 {
	chars := max(len([]rune(shorten(b.label))), len([]rune(caption(b))))
	return float64(chars)*charWidth + 2*boxPadding
}

// shorten cuts the middle out of a long label.
func shorten(s string) string {
	r := []rune(s)
	if len(r) <= maxChars {
		return s
	}
	half := (maxChars - 1) / 2
	return string(r[:half]) + "…" + string(r[len(r)-half:])
}

// caption is the second line of a box.
func caption(b *box) string {
	switch {
	case b.placeholder:
		return "does not exist"
	case b.descriptor == "":
		return b.state.String()
	default:
		return b.descriptor + " · " + b.state.String()
	}
}
