package document

import (
	"bytes"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	// maxSearched is the size of texts in which the position of an error is searched, in bytes.
	maxSearched = 1 << 20
	// maxLines is how many lines a list or a text in quotes that was not closed yet may have.
	maxLines = 20
)

// Errors of the YAML parser for a line that is indented by a tab: it depends on the line
// before.
const (
	badTab   = "found a tab character that violates indentation"
	badToken = "found character that cannot start any token"
)

// syntaxReasons say what to do about errors of the YAML parser.
var syntaxReasons = map[string]string{
	badTab:   "the line is indented by a tab; expected blanks",
	badToken: "a value begins with a character that needs quotes, or a line with a tab",
	"mapping values are not allowed in this context":         "this is not where a field can be; expected the indentation of the other fields, a ':' in the line above, or quotes around a text with ': '",
	"did not find expected key":                              "expected a field with the indentation of those above",
	"did not find expected '-' indicator":                    "expected another element of the list, which begins with '- ', or the indentation of the lines above it",
	"did not find expected ',' or ']'":                       "the list is not closed; expected ',' or ']'",
	"did not find expected ',' or '}'":                       "the mapping is not closed; expected ',' or '}'",
	"found unexpected end of stream":                         "the text in quotes is not closed",
	"could not find expected ':'":                            "expected ':' after the name of a field",
	"block sequence entries are not allowed in this context": "a list cannot be here; expected it in a line of its own",
}

// indentedByTab reports whether there is a tab before the text of a line (from 1).
func indentedByTab(text []byte, line int) bool {
	lines := bytes.SplitN(text, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return false
	}
	l := lines[line-1]
	return bytes.ContainsRune(l[:len(l)-len(bytes.TrimLeft(l, " \t"))], '\t')
}

// brokenLine returns the line that makes a text malformed, where the parser only knows
// near which line (from 1): the first one up to which the text cannot be parsed, nor
// some lines further on.
func brokenLine(text []byte, near int) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(text) > maxSearched || near > len(lines) {
		return near
	}
	ends := make([]int, len(lines)+1) // of the first n lines
	for i, line := range lines {
		ends[i+1] = ends[i] + len(line)
	}
	fails := func(n int) bool { return yaml.Unmarshal(text[:ends[n]], new(yaml.Node)) != nil }
	good, bad := 0, len(lines)
	for {
		for bad-good > 1 {
			if middle := (good + bad) / 2; fails(middle) {
				bad = middle
			} else {
				good = middle
			}
		}
		healed := 0
		for n := bad + 1; n <= min(bad+maxLines, len(lines)-1) && healed == 0; n++ {
			if !fails(n) {
				healed = n
			}
		}
		if healed == 0 {
			return bad
		}
		good, bad = healed, len(lines)
	}
}

// firstColumn returns the column of the first character of a line that is not blank.
func firstColumn(text []byte, line int) int {
	for range line - 1 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return len(text) - len(bytes.TrimLeft(text, " \t")) + 1
}

// Locator finds fields in a text. It parses the text when the first one is asked for.
type Locator struct {
	Text  []byte
	roots []*yaml.Node // nil: not parsed yet, or not parsable
}

// Locate returns the position of a field of the item at a position: the position of
// the innermost part of the path ("ip_addresses[1]") that is in the text. In large
// texts it is the position of the item.
func (l *Locator) Locate(item Position, field string) Position {
	if l.roots == nil && len(l.Text) <= maxSearched {
		l.roots, _ = parseYAML(item.File, l.Text)
	}
	var found *yaml.Node
	for _, root := range l.roots {
		if found = nodeAt(root, item); found != nil {
			break
		}
	}
	if found == nil {
		return item
	}
	if value := child(found, "value"); value != nil && child(found, "key") != nil {
		found = value
	}
	for _, step := range strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := child(found, step)
		if next == nil {
			break
		}
		found = next
	}
	return Position{File: item.File, Line: found.Line, Column: found.Column}
}

// nodeAt finds the mapping at a position.
func nodeAt(n *yaml.Node, at Position) *yaml.Node {
	if n.Kind == yaml.MappingNode && n.Line == at.Line && n.Column == at.Column {
		return n
	}
	for _, c := range n.Content {
		if found := nodeAt(c, at); found != nil {
			return found
		}
	}
	return nil
}

// child returns a field of a mapping, by either of its names, or an element of a list.
func child(n *yaml.Node, step string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if i, err := strconv.Atoi(step); err == nil && n.Kind == yaml.SequenceNode {
		if i < len(n.Content) {
			return n.Content[i]
		}
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == step || n.Content[i].Value == camel(step) {
			return n.Content[i+1]
		}
	}
	return nil
}
