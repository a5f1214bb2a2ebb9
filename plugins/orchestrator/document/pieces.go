package document

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"gopkg.in/yaml.v3"
)

// isLong reports whether a node is a list that is still text: one in brackets is
// JSON, any other YAML.
func isLong(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && n.Value != "" }

// longLists is what a reader knows of them.
type longLists struct {
	long  int // from which size on a list stays text, in bytes
	lists int // how many there were
}

// listDepth is how deep lists of items are at most: behind "data", and in a group.
const listDepth = 2

// piece is a part of a long list that is still text: some whole elements.
type piece struct {
	text      string
	line, col int // where it begins; in YAML, col is the column of all dashes; col counts from 0
	json      bool
}

// cut cuts a long list into pieces of about a size.
func cut(n *yaml.Node, size int) []piece {
	if n.Value[0] == '[' {
		return cutJSON(n, size)
	}
	return cutYAML(n, size)
}

// cutYAML cuts where an element begins: at a dash in the column of the list.
func cutYAML(n *yaml.Node, size int) (pieces []piece) {
	dash := "\n" + strings.Repeat(" ", n.Column-1) + "- "
	for text, line := n.Value, n.Line; ; {
		end := len(text)
		if size < len(text) {
			if at := strings.Index(text[size:], dash); at >= 0 {
				end = size + at + 1
			}
		}
		pieces = append(pieces, piece{text: text[:end], line: line, col: n.Column - 1})
		line += strings.Count(text[:end], "\n")
		if text = text[end:]; text == "" {
			return pieces
		}
	}
}

// each calls f with every element, until f returns false. The nodes are gone
// when f returns. The result is false if an element is not plain.
func (c piece) each(f func(e *yaml.Node) bool) (plain bool, big *tooBig) {
	if c.json {
		r := &jsonPlain{text: c.text, line: c.line, col: c.col, longLists: longLists{long: len(c.text)}}
		return r.elements(f), r.tooBig
	}
	p := &plainReader{text: c.text, line: c.line, longLists: longLists{long: len(c.text)}}
	for {
		indent, more := p.next()
		if !more {
			return true, nil
		}
		p.reset()
		if indent != c.col || !p.dash(c.col) {
			return false, nil
		}
		e := p.item(c.col, 0)
		if e == nil {
			return false, p.tooBig
		}
		if !f(e) {
			return true, nil
		}
	}
}

// part is what a piece says.
type part struct {
	items    []Item
	foreign  int
	elements int
	clean    bool // nothing is wrong with it, unless a key is in another one
	tooBig   *tooBig
}

// items calls read, which adds items, for every element of a list. The pieces of
// a long list are read at the same time, each by a decoder of its own. What they
// say is taken over in the order of the text; a piece with which anything is wrong
// is read again, by d, so that the errors are the same as for a short list.
func (d *decoder) items(n *yaml.Node, p *path, read func(d *decoder, e *yaml.Node, p *path)) {
	if !isLong(n) {
		d.list(n, p, func(e *yaml.Node, p *path) { read(d, e, p) })
		return
	}
	target, ok := d.enter(n, p)
	if !ok {
		return
	}
	defer d.leave(n)
	pieces := cut(target, d.codec.piece)
	d.lists++
	at := d.below(p)
	d.parts(pieces, read, func(i int, pt part) bool {
		if i == 0 && len(d.seen) == 0 { // room for all, once
			all := len(pieces) * len(pt.items)
			d.seen, d.doc.Items = make(map[string]int, all), make([]Item, 0, all)
		}
		if pt.clean && d.take(pt) {
			at.index += pt.elements
			return true
		}
		if d.tooBig = pt.tooBig; d.tooBig != nil {
			return false
		}
		plain, big := pieces[i].each(func(e *yaml.Node) bool {
			read(d, e, at)
			at.index++
			return !d.unplain && !d.stopped()
		})
		d.unplain, d.tooBig = d.unplain || !plain, big
		return !d.unplain && !d.stopped()
	})
}

// parts reads pieces and calls take with what they say, in their order, until it
// returns false.
func (d *decoder) parts(pieces []piece, read func(d *decoder, e *yaml.Node, p *path), take func(i int, pt part) bool) {
	ready := make([]chan part, len(pieces))
	for i := range ready {
		ready[i] = make(chan part, 1)
	}
	// What the readers begin with; d continues meanwhile.
	from := &decoder{codec: d.codec, file: d.file, prefix: d.prefix, line: d.line, aliased: d.aliased, depth: d.depth}
	var next atomic.Int64
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(pieces)) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(pieces) && !stop.Load(); i = int(next.Add(1)) - 1 {
				ready[i] <- from.part(pieces[i], read)
			}
		})
	}
	for i := range pieces {
		if !take(i, <-ready[i]) {
			break
		}
	}
	stop.Store(true)
	readers.Wait()
}

// part reads a piece with a copy of the decoder.
func (d *decoder) part(c piece, read func(d *decoder, e *yaml.Node, p *path)) part {
	r := *d
	r.doc = &Document{}
	at := r.below(nil)
	elements := 0
	plain, big := c.each(func(e *yaml.Node) bool {
		read(&r, e, at)
		elements++
		return len(r.doc.Errs) == 0
	})
	return part{
		items: r.doc.Items, foreign: r.doc.Foreign, elements: elements,
		clean: plain && !r.unplain && len(r.doc.Errs) == 0 && len(r.renamed) == 0, tooBig: big,
	}
}

// take adds what a piece says; false, and nothing, if it has a key that is
// there already.
func (d *decoder) take(pt part) bool {
	before := len(d.doc.Items)
	for _, it := range pt.items {
		if _, twice := d.seen[it.Key]; twice {
			for _, it := range d.doc.Items[before:] {
				delete(d.seen, it.Key)
			}
			d.doc.Items = d.doc.Items[:before]
			return false
		}
		d.seen[it.Key] = it.Line
		d.doc.Items = append(d.doc.Items, it)
	}
	d.doc.Foreign += pt.foreign
	return true
}
