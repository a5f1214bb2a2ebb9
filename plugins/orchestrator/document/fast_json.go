package document

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// jsonPlain makes the nodes of jsonReader several times as fast. It knows all of
// JSON, but leaves malformed or too deeply nested text to that reader.
//
// The text of a long list of items is only read by items, piece by piece.
type jsonPlain struct {
	arena
	text      string // UTF-8
	pos       int
	line, col int // of pos; col counts from 0
	longLists
}

// parsePlainJSON reads a text that is one object. Lists of items of more than
// long bytes stay text; lists is how many.
func parsePlainJSON(text string, long int) (root *yaml.Node, lists int, big *tooBig, ok bool) {
	r := &jsonPlain{text: text, line: 1, longLists: longLists{long: long}}
	if r.peek() != '{' {
		return nil, 0, nil, false
	}
	root = r.value(0)
	return root, r.lists, r.tooBig, root != nil && r.peek() == 0 && r.pos == len(text)
}

// peek goes to the next token and returns its first byte, 0 at the end.
func (r *jsonPlain) peek() byte {
	for ; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\n':
			r.line++
			r.col = 0
		case ' ', '\t', '\r':
			r.col++
		default:
			return r.text[r.pos]
		}
	}
	return 0
}

// step advances by some bytes of ASCII.
func (r *jsonPlain) step(n int) {
	r.pos += n
	r.col += n
}

func (r *jsonPlain) node(kind yaml.Kind, tag string) *yaml.Node {
	return r.make(kind, tag, r.line, r.col+1)
}

// value reads the value that begins here; nil if it is malformed or too deep.
func (r *jsonPlain) value(depth int) *yaml.Node {
	if depth > maxDepth {
		return nil
	}
	switch r.peek() {
	case '{':
		n := r.node(yaml.MappingNode, "!!map")
		r.prepare(n)
		return r.children(n, '}', depth)
	case '[':
		n := r.node(yaml.SequenceNode, "!!seq")
		if depth <= listDepth {
			if size := r.listSize(); size > r.long {
				return r.keepText(n, size)
			}
		}
		r.prepare(n)
		return r.children(n, ']', depth)
	}
	return r.scalar()
}

// keepText goes behind a long list.
func (r *jsonPlain) keepText(n *yaml.Node, size int) *yaml.Node {
	n.Value = r.text[r.pos : r.pos+size]
	if !strings.HasSuffix(n.Value, "]") {
		return nil
	}
	r.forward(size)
	r.lists++
	return n
}

// children reads an object or a list that is not long.
func (r *jsonPlain) children(n *yaml.Node, end byte, depth int) *yaml.Node {
	r.step(1)
	if r.peek() == end {
		r.step(1)
		return n
	}
	for {
		if end == '}' {
			if r.peek() != '"' {
				return nil
			}
			key := r.scalar()
			if key == nil || r.peek() != ':' {
				return nil
			}
			r.step(1)
			n.Content = append(n.Content, key)
		}
		value := r.value(depth + 1)
		if value == nil {
			return nil
		}
		n.Content = append(n.Content, value)
		if end == '}' && r.full(n) || r.tooBig != nil {
			return nil
		}
		switch r.peek() {
		case end:
			r.step(1)
			return n
		case ',':
			r.step(1)
		default:
			return nil
		}
	}
}

// elements calls f with every element of a piece; see piece.each.
func (r *jsonPlain) elements(f func(e *yaml.Node) bool) bool {
	for {
		r.reset()
		e := r.value(2) // at least
		if e == nil {
			return false
		}
		if !f(e) {
			return true
		}
		switch r.peek() {
		case ',':
			r.step(1)
		case 0:
			return r.pos == len(r.text)
		default:
			return false
		}
	}
}

// scalar reads a text, a number, true, false or null.
func (r *jsonPlain) scalar() *yaml.Node {
	c := r.peek()
	switch {
	case c == '"':
		return r.quoted()
	case c == '-' || '0' <= c && c <= '9':
		size, tag := number(r.text[r.pos:])
		return r.word(size, tag)
	case strings.HasPrefix(r.text[r.pos:], "true"):
		return r.word(4, "!!bool")
	case strings.HasPrefix(r.text[r.pos:], "false"):
		return r.word(5, "!!bool")
	case strings.HasPrefix(r.text[r.pos:], "null"):
		return r.word(4, "!!null")
	}
	return nil
}

func (r *jsonPlain) word(size int, tag string) *yaml.Node {
	if size == 0 {
		return nil
	}
	n := r.node(yaml.ScalarNode, tag)
	n.Value = r.arena.word(r.text[r.pos : r.pos+size])
	r.step(size)
	return n
}

// number reports how long the number is that a text begins with; 0: none.
func number(text string) (size int, tag string) {
	at := 0
	digits := func() bool {
		start := at
		for at < len(text) && '0' <= text[at] && text[at] <= '9' {
			at++
		}
		return at > start
	}
	tag = "!!int"
	if text[0] == '-' {
		at++
	}
	if strings.HasPrefix(text[at:], "0") {
		at++
	} else if !digits() {
		return 0, ""
	}
	if strings.HasPrefix(text[at:], ".") {
		tag = "!!float"
		if at++; !digits() {
			return 0, ""
		}
	}
	if at < len(text) && text[at]|0x20 == 'e' {
		tag = "!!float"
		if at++; at < len(text) && (text[at] == '+' || text[at] == '-') {
			at++
		}
		if !digits() {
			return 0, ""
		}
	}
	return at, tag
}

// quoted reads a text in quotes.
func (r *jsonPlain) quoted() *yaml.Node {
	simple := true
	at := r.pos + 1
	for ; at < len(r.text) && r.text[at] != '"'; at++ {
		switch c := r.text[at]; {
		case c == '\\':
			simple = false
			at++ // also over a quote
		case c < ' ':
			return nil
		case c >= utf8.RuneSelf:
			simple = false
		}
	}
	if at >= len(r.text) {
		return nil
	}
	n := r.node(yaml.ScalarNode, "!!str")
	token := r.text[r.pos : at+1]
	r.pos += len(token)
	if simple {
		n.Value = r.arena.word(token[1 : len(token)-1])
		r.col += len(token)
		return n
	}
	if json.Unmarshal([]byte(token), &n.Value) != nil {
		return nil
	}
	r.col += utf8.RuneCountInString(token)
	return n
}

// brackets are the bytes that matter to where a list ends.
var brackets = func() (set [256]bool) {
	for _, c := range []byte(`"[]{},`) {
		set[c] = true
	}
	return set
}()

// listSize reports how long the list is that begins here, roughly: it ends there if it
// is well formed.
func (r *jsonPlain) listSize() int {
	depth := 0
	for at := r.pos; at < len(r.text); at++ {
		switch c := r.text[at]; {
		case !brackets[c] || c == ',':
		case c == '"':
			at = endOfText(r.text, at)
		case c == '[' || c == '{':
			depth++
		default:
			if depth--; depth == 0 {
				return at + 1 - r.pos
			}
		}
	}
	return 0
}

// endOfText finds the quote that ends the text that begins at a quote.
func endOfText(text string, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}

// forward advances by some bytes of any kind.
func (r *jsonPlain) forward(n int) {
	text := r.text[r.pos : r.pos+n]
	if last := strings.LastIndexByte(text, '\n'); last >= 0 {
		r.line += strings.Count(text, "\n")
		r.col = 0
		text = text[last+1:]
	}
	r.col += utf8.RuneCountInString(text)
	r.pos += n
}

// cutJSON cuts a list in brackets at commas between its elements.
func cutJSON(n *yaml.Node, size int) (pieces []piece) {
	r := &jsonPlain{text: n.Value[:len(n.Value)-1], line: n.Line, col: n.Column - 1}
	r.step(1)
	depth, start := 0, r.pos
	for at := start; at < len(r.text); at++ {
		switch c := r.text[at]; {
		case !brackets[c]:
		case c == '"':
			at = endOfText(r.text, at)
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case depth == 0 && at-start > size:
			pieces = append(pieces, piece{text: r.text[start:at], line: r.line, col: r.col, json: true})
			r.forward(at + 1 - start)
			start = r.pos
		}
	}
	return append(pieces, piece{text: r.text[start:], line: r.line, col: r.col, json: true})
}
