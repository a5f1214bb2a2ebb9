package document

import (
	"hash/maphash"
	"strings"

	"gopkg.in/yaml.v3"
)

// arena makes the nodes of one element of a list after the other in the same
// memory, and the same words the same string.
type arena struct {
	nodes    []yaml.Node // a part of them; a full one is never moved
	count    int         // of all nodes
	children []*yaml.Node
	tooBig   *tooBig          // nil: nothing is
	words    *[1 << 10]string // recent ones
}

// fewChildren is for how many children there is room without asking for memory.
const fewChildren = 16

// reset gives up all nodes.
func (a *arena) reset() { a.nodes, a.children, a.count = a.nodes[:0], a.children[:0], 0 }

func (a *arena) make(kind yaml.Kind, tag string, line, column int) *yaml.Node {
	if a.count++; a.count > maxValues && a.tooBig == nil {
		a.tooBig = &tooBig{line, column, manyValues}
	}
	if len(a.nodes) == cap(a.nodes) {
		a.nodes = make([]yaml.Node, 0, min(max(64, 2*cap(a.nodes)), 4096))
	}
	a.nodes = append(a.nodes, yaml.Node{Kind: kind, Tag: tag, Line: line, Column: column})
	return &a.nodes[len(a.nodes)-1]
}

// full reports that reading has to stop: there are too many values, or too many fields in
// the mapping.
func (a *arena) full(mapping *yaml.Node) bool {
	if len(mapping.Content) > 2*maxFields && a.tooBig == nil {
		a.tooBig = &tooBig{mapping.Line, mapping.Column, manyFields}
	}
	return a.tooBig != nil
}

// prepare makes room for the children of a node.
func (a *arena) prepare(n *yaml.Node) {
	at := len(a.children)
	if cap(a.children)-at < fewChildren {
		a.children, at = make([]*yaml.Node, 0, max(4*fewChildren, 2*cap(a.children))), 0
	}
	a.children = a.children[:at+fewChildren]
	n.Content = a.children[at:at:len(a.children)]
}

// seed makes the places of words.
var seed = maphash.MakeSeed()

// word returns the text as a string of its own, the same as before if it was
// there lately: the document must not be kept for a name in it.
func (a *arena) word(text string) string {
	if a.words == nil {
		a.words = &[1 << 10]string{}
	}
	place := &a.words[maphash.String(seed, text)%uint64(len(a.words))]
	if *place != text {
		*place = strings.Clone(text)
	}
	return *place
}
