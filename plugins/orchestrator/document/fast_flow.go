package document

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// flow reads a scalar or a value in brackets that begins at the column, and
// reports where it ends; nil if it is not plain.
func (p *plainReader) flow(col, depth int, within bool) (n *yaml.Node, after int) {
	open := p.rest(col)
	if open == "" || depth > maxDepth {
		return nil, 0
	}
	end := byte(0)
	switch open[0] {
	case '{':
		n, end = p.node(yaml.MappingNode, "!!map", col), '}'
	case '[':
		n, end = p.node(yaml.SequenceNode, "!!seq", col), ']'
	default:
		return p.scalar(col, within)
	}
	n.Style = yaml.FlowStyle
	p.prepare(n)
	at := p.blanks(col + 1)
	if strings.HasPrefix(p.rest(at), string(end)) {
		return n, at + 1
	}
	for {
		if at = p.entry(n, at, depth); at < 0 {
			return nil, 0
		}
		at = p.blanks(at)
		switch rest := p.rest(at); {
		case rest == "":
			return nil, 0
		case rest[0] == end:
			return n, at + 1
		case rest[0] != ',':
			return nil, 0
		}
		at = p.blanks(at + 1)
	}
}

// entry reads a field of a mapping or an element of a list in brackets and
// reports where it ends, -1 if it is not plain.
func (p *plainReader) entry(n *yaml.Node, at, depth int) (after int) {
	if n.Kind == yaml.MappingNode {
		key, end := p.scalar(at, true)
		if key == nil || end-at > maxName || !strings.HasPrefix(p.rest(end), ": ") {
			return -1
		}
		n.Content = append(n.Content, key)
		at = p.blanks(end + 1)
	}
	value, after := p.flow(at, depth+1, true)
	if value == nil {
		return -1
	}
	n.Content = append(n.Content, value)
	if n.Kind == yaml.MappingNode && p.full(n) || p.tooBig != nil {
		return -1
	}
	return after
}

func (p *plainReader) blanks(col int) int {
	for strings.HasPrefix(p.rest(col), " ") {
		col++
	}
	return col
}

// scalar reads a word, a number or a text in quotes; within brackets or not.
func (p *plainReader) scalar(col int, within bool) (n *yaml.Node, after int) {
	rest := p.rest(col)
	if rest == "" {
		return nil, 0
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		return p.quoted(col, quote)
	}
	size := 0
	for size < len(rest) && inWord[rest[size]] && !(rest[size] == ':' && (size+1 == len(rest) || rest[size+1] == ' ')) {
		size++
	}
	text := rest[:size]
	switch {
	case size == 0 || !beginsWord(text[0]) || strings.HasSuffix(text, ":"):
		return nil, 0
	case size < len(rest) && !endsWord(rest[size], within):
		return nil, 0
	}
	tag := tagOf(text)
	if tag == "" {
		return nil, 0
	}
	n = p.node(yaml.ScalarNode, tag, col)
	n.Value = p.word(text)
	return n, col + size
}

// quoted reads a text in quotes that means what it says.
func (p *plainReader) quoted(col int, quote byte) (n *yaml.Node, after int) {
	text := p.rest(col + 1)
	size := strings.IndexByte(text, quote)
	if size < 0 || strings.HasPrefix(text[size+1:], "'") { // no end, or an escaped quote
		return nil, 0
	}
	text = text[:size]
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' || text[i] == '\\' {
			return nil, 0
		}
	}
	n = p.node(yaml.ScalarNode, "!!str", col)
	n.Value, n.Style = p.word(text), yaml.DoubleQuotedStyle
	if quote == '\'' {
		n.Style = yaml.SingleQuotedStyle
	}
	return n, col + size + 2
}

// inWord are the bytes that words without quotes may have here.
var inWord = func() (set [256]bool) {
	for c := range set {
		set[c] = beginsWord(byte(c)) || strings.IndexByte("_./:-", byte(c)) >= 0
	}
	return set
}()

func beginsWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// endsWord reports whether a word may end before the byte.
func endsWord(next byte, within bool) bool {
	return next == ' ' || next == ':' || within && strings.IndexByte(",]}", next) >= 0
}

// tagOf is the type of a word without quotes; empty for what is not so simple,
// such as dates and numbers with a point.
func tagOf(text string) string {
	if text[0] > '9' {
		switch text {
		case "true", "True", "TRUE", "false", "False", "FALSE":
			return "!!bool"
		case "null", "Null", "NULL":
			return "!!null"
		}
		return "!!str"
	}
	digits, dots := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.':
			dots++
		case c == '-' && i == 4:
			return "" // perhaps a date
		}
	}
	switch {
	case digits == len(text):
		if digits > 18 || text[0] == '0' && digits > 1 {
			return ""
		}
		return "!!int"
	case dots > 1 || strings.ContainsAny(text, "/:"):
		return "!!str" // an address
	}
	return ""
}
