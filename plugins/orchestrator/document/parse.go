package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// parse reads the syntax of a text: the roots of the YAML documents in it, or the
// root of JSON. If it is plain, long lists in it are still text, and may turn out
// not to be plain; lists is how many.
func (c *Codec) parse(file string, text []byte, asPlain bool) (roots []*yaml.Node, lists int, failure *Error) {
	text, failure = readable(file, text)
	if failure != nil {
		return nil, 0, failure
	}
	if asPlain {
		whole := string(text)
		root, lists, big, ok := parsePlainJSON(whole, c.long)
		if !ok && !strings.HasSuffix(file, ".json") && big == nil {
			root, lists, big, ok = parsePlain(whole, c.long)
		}
		if big != nil {
			return nil, 0, big.in(file)
		}
		if ok {
			return []*yaml.Node{root}, lists, nil
		}
	}
	roots, failure = parseWhole(file, text)
	return roots, 0, failure
}

// readable returns a text without its byte order mark, or what makes it unreadable.
func readable(file string, text []byte) ([]byte, *Error) {
	if len(text) > maxSize {
		return nil, &Error{Position: Position{File: file}, Msg: fmt.Sprintf("the text has %d bytes, expected at most %d", len(text), maxSize)}
	}
	text = withoutMark(text)
	if at := invalidUTF8(text); at >= 0 {
		return nil, &Error{Position: locate(file, text, at), Msg: fmt.Sprintf("byte 0x%02x is not UTF-8", text[at])}
	}
	return text, nil
}

// parseWhole reads a text with the parsers of the whole languages.
func parseWhole(file string, text []byte) (roots []*yaml.Node, failure *Error) {
	if !strings.HasSuffix(file, ".json") && !looksLikeJSON(text) {
		return parseYAML(file, text)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	n, err := parseJSON(text)
	if err != nil {
		return nil, &Error{Position: locate(file, text, err.offset), Msg: "malformed JSON: " + err.msg}
	}
	return []*yaml.Node{n}, nil
}

// withoutMark is the text without a byte order mark.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// locate turns an offset into a position.
func locate(file string, text []byte, offset int) Position {
	before := text[:min(max(offset, 0), len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Position{File: file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1}
}

var lineOfError = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

func parseYAML(file string, text []byte) (roots []*yaml.Node, failure *Error) {
	text = withoutMark(text)
	defer func() { // the parser must not take the agent down, whatever the text
		if p := recover(); p != nil {
			roots, failure = nil, &Error{Position: Position{File: file}, Msg: fmt.Sprintf("malformed YAML: %v", p)}
		}
	}()
	if big := tooBigYAML(text); big != nil {
		return nil, big.in(file)
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return nil, syntaxError(file, text, err.Error())
		}
		if len(doc.Content) == 1 {
			roots = append(roots, doc.Content[0])
		}
	}
}

// syntaxError is the error of a text that the parser refused.
func syntaxError(file string, text []byte, msg string) *Error {
	m := lineOfError.FindStringSubmatch(msg)
	msg = msg[len(m[0]):]
	near, _ := strconv.Atoi(m[1]) // 0: unknown
	line := brokenLine(text, max(near, 1))
	if msg == badToken && indentedByTab(text, line) {
		msg = badTab
	}
	return &Error{Position: Position{File: file, Line: line, Column: firstColumn(text, line)}, Msg: "malformed YAML: " + cmp.Or(syntaxReasons[msg], msg)}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// describe says what a node is, for errors.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return describe(n.Alias)
	}
	text := n.Value
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!str":
		return "the text " + strconv.Quote(text)
	}
	return text
}

// enter is called for every value; it follows aliases and bounds depth and
// expansion. Each call with ok is followed by leave.
func (d *decoder) enter(n *yaml.Node, p *path) (target *yaml.Node, ok bool) {
	target = n
	if n.Kind == yaml.AliasNode {
		d.within++
		target = n.Alias
	}
	d.depth++
	if d.within > 0 {
		d.aliased--
	}
	switch {
	case d.depth > maxDepth:
		d.fail(n, p, "nested deeper than %d levels", maxDepth)
	case d.aliased < 0:
		if d.aliased == -1 {
			d.fail(n, p, "aliases repeat more than %d values", maxAliased)
		}
	default:
		return target, true
	}
	d.leave(n)
	return nil, false
}

// leave ends what enter began.
func (d *decoder) leave(n *yaml.Node) {
	d.depth--
	if n.Kind == yaml.AliasNode {
		d.within--
	}
}

// mapping calls f for every field of a mapping and reports those given twice.
func (d *decoder) mapping(n *yaml.Node, p *path, f func(key, value *yaml.Node, p *path)) bool {
	target, ok := d.enter(n, p)
	if !ok {
		return false
	}
	defer d.leave(n)
	if target.Kind != yaml.MappingNode {
		d.fail(n, p, "expected a mapping, got %s", describe(n))
		return false
	}
	at := d.below(p)
	if simple(target) {
		for i := 0; i+1 < len(target.Content); i += 2 {
			at.name = target.Content[i].Value
			f(target.Content[i], target.Content[i+1], at)
		}
		return true
	}
	fields, ok := d.fields(target, p)
	for _, kv := range fields {
		at.name = kv.key.Value
		f(kv.key, kv.value, at)
	}
	return ok
}

// below is the path to one value after the other in the value that was entered
// last.
func (d *decoder) below(p *path) *path {
	at := &d.paths[d.depth]
	*at = path{up: p}
	return at
}

// simple reports whether a mapping has a few fields with different names, and
// nothing is merged into it.
func simple(n *yaml.Node) bool {
	if len(n.Content) > 2*fewChildren {
		return false
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return false
		}
		for j := 0; j < i; j += 2 {
			if n.Content[j].Value == key.Value {
				return false
			}
		}
	}
	return true
}

type pair struct{ key, value *yaml.Node }

// fields lists the fields of a mapping; fields of merged mappings ("<<") come
// last, and only those that are not given.
func (d *decoder) fields(n *yaml.Node, p *path) (list []pair, ok bool) {
	ok = true
	lines := make(map[string]int, len(n.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch line, twice := lines[key.Value]; {
		case key.Kind == yaml.ScalarNode && key.Tag == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode:
			d.fail(key, p, "expected the name of a field, got %s", describe(key))
			ok = false
		case twice:
			d.fail(key, &path{up: p, name: key.Value}, "given twice, first in line %d", line+d.line)
			ok = false
		default:
			lines[key.Value] = key.Line
			list = append(list, pair{key, value})
		}
	}
	for _, m := range merged {
		more, good := d.merge(m, p, lines)
		list, ok = append(list, more...), ok && good
	}
	return list, ok
}

// merge lists the fields of a merged mapping, or of a list of them, that are
// not in known; it adds them there.
func (d *decoder) merge(n *yaml.Node, p *path, known map[string]int) (list []pair, ok bool) {
	target, ok := d.enter(n, p)
	if !ok {
		return nil, false
	}
	defer d.leave(n)
	switch target.Kind {
	case yaml.SequenceNode:
		ok = true
		for _, e := range target.Content {
			more, good := d.merge(e, p, known)
			list, ok = append(list, more...), ok && good
		}
		return list, ok
	case yaml.MappingNode:
		all, ok := d.fields(target, p)
		for _, f := range all {
			if _, given := known[f.key.Value]; !given {
				known[f.key.Value] = f.key.Line
				list = append(list, f)
			}
		}
		return list, ok
	}
	d.fail(n, p, "expected a mapping to merge, got %s", describe(n))
	return nil, false
}
