package document

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// plainReader reads the part of YAML that configurations of many items are written
// in: mappings and lists in block style, where each line is complete in
// itself, with values that are a word, a whole number, a text in quotes without
// escapes, or the same in flow style. It makes the nodes that the parser of the
// whole language makes, comments aside, several times as fast. What it does not
// know, and what is wrong, it leaves to that parser.
//
// The text of a long list of items is only read by items, piece by piece. So a
// million items need the memory of a few.
type plainReader struct {
	arena
	text string
	pos  int    // where the line begins that is read next
	line int    // its number
	now  string // that line, from next on
	longLists
}

// maxName limits the name of a field, in bytes; YAML's limit is 1024.
const maxName = 1000

// parsePlain reads a text that is one plain mapping. Lists of items of more than
// long bytes stay text; lists is how many.
func parsePlain(text string, long int) (root *yaml.Node, lists int, big *tooBig, ok bool) {
	if mayControl(text) {
		return nil, 0, nil, false
	}
	p := &plainReader{text: text, line: 1, longLists: longLists{long: long}}
	indent, more := p.next()
	if more && p.line == 1 && p.now == "---" {
		p.skip()
		indent, more = p.next()
	}
	if !more || indent != 0 {
		return nil, 0, nil, false
	}
	root = p.mapping(0, 0)
	_, more = p.next()
	return root, p.lists, p.tooBig, root != nil && !more
}

// mayControl reports whether there may be characters that YAML forbids anywhere,
// comments included. The text is UTF-8.
func mayControl(text string) bool {
	for i := range len(text) {
		c := text[i]
		if !suspect[c] {
			continue
		}
		if c != 0xC2 || i+1 < len(text) && text[i+1] < 0xA0 { // U+0080 to U+009F
			return true
		}
	}
	return false
}

// suspect are the bytes that such characters begin with.
var suspect = func() (set [256]bool) {
	for c := range byte(' ') {
		set[c] = c != '\n'
	}
	set[0x7F], set[0xC2] = true, true
	set[0xEF] = true // U+FEFF, U+FFFE and U+FFFF, among others
	return set
}()

// rest is the line from a column on.
func (p *plainReader) rest(col int) string { return p.now[min(col, len(p.now)):] }

// skip advances to the next line.
func (p *plainReader) skip() {
	if end := strings.IndexByte(p.text[p.pos:], '\n'); end >= 0 {
		p.pos += end + 1
		p.line++
		return
	}
	p.pos = len(p.text)
}

// next goes to the next line that says anything and returns how far it is
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

// dash reports whether an element of a list begins at the column.
func (p *plainReader) dash(col int) bool {
	return strings.HasPrefix(p.rest(col), "- ")
}

func (p *plainReader) node(kind yaml.Kind, tag string, col int) *yaml.Node {
	return p.make(kind, tag, p.line, col+1)
}

// mapping reads the mapping whose first field is in this line, at the column;
// nil if it is not plain.
func (p *plainReader) mapping(col, depth int) *yaml.Node {
	if depth > maxDepth {
		return nil
	}
	m := p.node(yaml.MappingNode, "!!map", col)
	p.prepare(m)
	for {
		key, after := p.scalar(col, false)
		if key == nil || after-col > maxName || !strings.HasPrefix(p.rest(after), ":") {
			return nil
		}
		value := p.field(col, after+1, depth)
		if value == nil {
			return nil
		}
		m.Content = append(m.Content, key, value)
		if p.full(m) {
			return nil
		}
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
	end := p.endOfList(col)
	if end-p.pos > p.long && depth <= listDepth {
		l.Value = p.text[p.pos:end]
		p.line += strings.Count(l.Value, "\n")
		p.pos = end
		p.lists++
		return l
	}
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
		if p.tooBig != nil {
			return nil
		}
	}
}

// endOfList reports where a list ends whose dashes are in the column: before the
// first line that is not indented as far, or as far but has no dash.
func (p *plainReader) endOfList(col int) int {
	pos := p.pos
	for pos < len(p.text) {
		at := pos
		for at < len(p.text) && at <= pos+col && p.text[at] == ' ' {
			at++
		}
		dash := at == pos+col && strings.HasPrefix(p.text[at:], "- ")
		if at <= pos+col && !dash && !p.isBlank(at) {
			return pos
		}
		size := strings.IndexByte(p.text[at:], '\n')
		if size < 0 {
			return len(p.text)
		}
		pos = at + size + 1
	}
	return pos
}

// isBlank reports whether the line says nothing from there on.
func (p *plainReader) isBlank(at int) bool {
	for at < len(p.text) && p.text[at] == ' ' {
		at++
	}
	return at == len(p.text) || p.text[at] == '\n' || p.text[at] == '#'
}

// item reads the element of a list whose dash is at the column.
func (p *plainReader) item(col, depth int) *yaml.Node {
	rest := p.rest(col + 1)
	col += 1 + len(rest) - len(strings.TrimLeft(rest, " "))
	if open := p.rest(col); open != "" && (open[0] == '{' || open[0] == '[') {
		return p.inline(col, depth)
	}
	before := p.nodes
	key, after := p.scalar(col, false)
	p.nodes = before
	if key == nil {
		return nil
	}
	if strings.HasPrefix(p.rest(after), ":") {
		return p.mapping(col, depth+1)
	}
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

// isEnd reports whether nothing but a comment is left of a line.
func isEnd(rest string) bool {
	trimmed := strings.TrimLeft(rest, " ")
	return trimmed == "" || trimmed[0] == '#' && len(trimmed) < len(rest)
}
