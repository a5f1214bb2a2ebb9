package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// jsonError is a syntax error at an offset.
type jsonError struct {
	offset int
	msg    string
}

// looksLikeJSON reports whether a text of unknown format is JSON; what begins
// with a brace may also be YAML.
func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// jsonReader makes the nodes that YAML of the same meaning would have, with
// positions.
type jsonReader struct {
	text      []byte
	in        *json.Decoder
	pos       int // up to where line and column are counted
	line, col int
	count     int // of nodes
}

func parseJSON(text []byte) (*yaml.Node, *jsonError) {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &syntax) {
		return nil, &jsonError{int(syntax.Offset) - 1, syntax.Error()}
	}
	r := &jsonReader{text: text, in: json.NewDecoder(bytes.NewReader(text)), line: 1, col: 1}
	r.in.UseNumber()
	n, err := r.next(0)
	if err != nil {
		return nil, &jsonError{r.pos, err.Error()}
	}
	return n, nil
}

var errEnd = errors.New("end of a list or mapping")

// next reads one value, or returns errEnd.
func (r *jsonReader) next(depth int) (*yaml.Node, error) {
	tok, err := r.in.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	r.skip()
	if r.count++; r.count > maxValues {
		return nil, errors.New(manyValues)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.col}
	switch v := tok.(type) {
	case json.Delim:
		switch v {
		case '{':
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		case '[':
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		default:
			r.advance(int(r.in.InputOffset()))
			return nil, errEnd
		}
		r.advance(int(r.in.InputOffset()))
		return n, r.children(n, depth)
	case string:
		n.Tag, n.Value = "!!str", v
	case json.Number:
		n.Tag, n.Value = "!!int", v.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if v {
			n.Value = "true"
		}
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	r.advance(int(r.in.InputOffset()))
	return n, nil
}

func (r *jsonReader) children(n *yaml.Node, depth int) error {
	if depth > 2*maxDepth {
		return errors.New("nested too deep")
	}
	for {
		child, err := r.next(depth + 1)
		if errors.Is(err, errEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		n.Content = append(n.Content, child)
		if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxFields {
			return errors.New(manyFields)
		}
	}
}

// skip advances to the first byte of the token that was just read.
func (r *jsonReader) skip() {
	at := r.pos
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	r.advance(at)
}

func (r *jsonReader) advance(to int) {
	for r.pos < to {
		c, size := utf8.DecodeRune(r.text[r.pos:])
		r.pos += size
		r.col++
		if c == '\n' {
			r.line++
			r.col = 1
		}
	}
}
