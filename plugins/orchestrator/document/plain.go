package document

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// longList is from which size on a list is not parsed as a whole, in bytes.
const longList = 64 << 10

// plainReader reads the part of YAML that configurations of many items are written
// in: mappings and lists in block style, each line of which is complete in
// itself, with values that are a word, a whole number, a text in quotes without
// escapes, or the same in flow style. It makes the nodes that the parser of the
// whole language makes, comments aside, several times as fast. What it does not
// know, and what is wrong, it leaves to that parser.
//
// A long list becomes a node without content whose Value is its text; see
// eachOf. So a million items need the memory of one.
type plainReader struct {
	text  string
	pos   int    // where the line begins that is read next
	line  int    // its number
	now   string // that line, from next on
	nodes []yaml.Node
	words *[1 << 10]string // recent ones, so that the same are the same string
}

// parsePlain reads a text that is one plain mapping.
func parsePlain(text []byte) (root *yaml.Node, ok bool) {
	if mayControl(text) {
		return nil, false
	}
	p := &plainReader{text: string(text), line: 1, words: &[1 << 10]string{}}
	indent, more := p.next()
	if !more || indent != 0 {
		return nil, false
	}
	root = p.mapping(0, 0)
	_, more = p.next()
	return root, root != nil && !more
}

// mayControl tells whether there may be characters that YAML forbids anywhere,
// comments included. The text is UTF-8.
func mayControl(text []byte) bool {
	for i, c := range text {
		switch {
		case c < ' ' && c != '\n', c == 0x7f, // ASCII
			c == 0xC2 && i+1 < len(text) && text[i+1] < 0xA0, // U+0080 to U+009F
			c == 0xEF: // U+FEFF, U+FFFE and U+FFFF, among others
			return true
		}
	}
	return false
}

// eachOf calls f with every element of a long list, until f returns false. The
// nodes are gone when f returns. The result is false if one is not plain.
func eachOf(n *yaml.Node, f func(e *yaml.Node) bool) bool {
	p := &plainReader{text: n.Value, line: n.Line, words: &[1 << 10]string{}}
	col := n.Column - 1
	for {
		indent, more := p.next()
		if !more {
			return true
		}
		p.nodes = p.nodes[:0]
		if indent != col || !p.dash(col) {
			return false
		}
		e := p.item(col, 0)
		if e == nil {
			return false
		}
		if !f(e) {
			return true
		}
	}
}

// isLong tells whether a node is a list that is still text.
func isLong(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && n.Value != "" }

// rest is the line from a column on.
func (p *plainReader) rest(col int) string { return p.now[min(col, len(p.now)):] }

// skip goes on to the next line.
func (p *plainReader) skip() {
	if end := strings.IndexByte(p.text[p.pos:], '\n'); end >= 0 {
		p.pos += end + 1
		p.line++
		return
	}
	p.pos = len(p.text)
}

// next goes to the next line that says anything and tells how far it is
// indented.
func (p *plainReader) next() (indent int, more bool) {
	for p.pos < len(p.text) {
		at := p.pos
		for at < len(p.text) && p.text[at] == ' ' {
			at++
		}
		if at < len(p.text) && p.text[at] != '\n' && p.text[at] != '#' {
			p.now, _, _ = strings.Cut(p.text[p.pos:], "\n")
			return at - p.pos, true
		}
		p.skip()
	}
	return 0, false
}

// dash tells whether an element of a list begins at the column.
func (p *plainReader) dash(col int) bool {
	return strings.HasPrefix(p.rest(col), "- ")
}

func (p *plainReader) node(kind yaml.Kind, tag string, col int) *yaml.Node {
	p.nodes = append(p.nodes, yaml.Node{Kind: kind, Tag: tag, Line: p.line, Column: col + 1})
	return &p.nodes[len(p.nodes)-1] // stays valid when nodes grows
}

// mapping reads the mapping whose first field is in this line, at the column;
// nil if it is not plain.
func (p *plainReader) mapping(col, depth int) *yaml.Node {
	if depth > maxDepth {
		return nil
	}
	m := p.node(yaml.MappingNode, "!!map", col)
	m.Content = make([]*yaml.Node, 0, 8)
	for {
		key, after := p.scalar(col, false)
		if key == nil || !strings.HasPrefix(p.rest(after), ":") {
			return nil
		}
		value := p.field(col, after+1, depth)
		if value == nil {
			return nil
		}
		m.Content = append(m.Content, key, value)
		indent, more := p.next()
		if !more || indent < col {
			return m
		}
		if indent > col {
			return nil
		}
	}
}

// field reads the value behind the colon of a field, in this line or below.
func (p *plainReader) field(col, after, depth int) *yaml.Node {
	if !isEnd(p.rest(after)) {
		if !strings.HasPrefix(p.rest(after), " ") {
			return nil
		}
		return p.inline(after, depth)
	}
	p.skip()
	indent, more := p.next()
	switch {
	case more && indent >= col && p.dash(indent):
		return p.list(indent, depth+1)
	case more && indent > col:
		return p.mapping(indent, depth+1)
	}
	return nil // nothing
}

// list reads the list whose first element is in this line, at the column.
func (p *plainReader) list(col, depth int) *yaml.Node {
	if depth > maxDepth {
		return nil
	}
	l := p.node(yaml.SequenceNode, "!!seq", col)
	start, line := p.pos, p.line
	for {
		indent, more := p.next()
		if !more || indent < col || indent == col && !p.dash(col) {
			break
		}
		p.skip()
	}
	if p.pos-start > longList {
		l.Value = p.text[start:p.pos]
		return l
	}
	end := p.pos
	p.pos, p.line = start, line
	for {
		if indent, _ := p.next(); p.pos >= end {
			return l
		} else if indent != col || !p.dash(col) {
			return nil
		}
		e := p.item(col, depth)
		if e == nil {
			return nil
		}
		l.Content = append(l.Content, e)
	}
}

// item reads the element of a list whose dash is at the column.
func (p *plainReader) item(col, depth int) *yaml.Node {
	rest := p.rest(col + 1)
	col += 1 + len(rest) - len(strings.TrimLeft(rest, " "))
	if open := p.rest(col); open != "" && (open[0] == '{' || open[0] == '[') {
		return p.inline(col, depth)
	}
	before := len(p.nodes)
	if key, after := p.scalar(col, false); key == nil {
		return nil
	} else if strings.HasPrefix(p.rest(after), ":") {
		p.nodes = p.nodes[:before]
		return p.mapping(col, depth+1)
	}
	p.nodes = p.nodes[:before]
	return p.inline(col, depth)
}

// inline reads a value that ends in this line, with the rest of the line.
func (p *plainReader) inline(col, depth int) *yaml.Node {
	rest := p.rest(col)
	col += len(rest) - len(strings.TrimLeft(rest, " "))
	n, after := p.flow(col, depth, false)
	if n == nil || !isEnd(p.rest(after)) {
		return nil
	}
	p.skip()
	return n
}

// isEnd tells whether nothing but a comment is left of a line.
func isEnd(rest string) bool {
	trimmed := strings.TrimLeft(rest, " ")
	return trimmed == "" || trimmed[0] == '#' && len(trimmed) < len(rest)
}
