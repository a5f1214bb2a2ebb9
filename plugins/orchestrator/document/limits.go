package document

import (
	"bytes"
	"fmt"
)

// A document that is not read by pieces takes about 20 times its size in memory, or 200 times if
// it consists of unknown fields. These limits are far above what a configuration has; they are
// checked before the memory is used.
const (
	// maxFields is the maximum number of fields of one mapping.
	maxFields = 4096
	// maxValues is the maximum number of values, names included, of one item, and of all that is
	// not in a list of items.
	maxValues = 150_000
	// maxYAML is the maximum number of values of a YAML document that only the parser of the
	// whole language can read.
	maxYAML = 3_000_000
	// maxScalar is the maximum size of one value, in bytes.
	maxScalar = 1 << 20
	// maxUnread is the number of errors after which reading stops: the items are unknown then.
	maxUnread = 100_000
	// maxDocuments is the maximum number of YAML documents in one text.
	maxDocuments = 1000
)

var (
	manyFields = fmt.Sprintf("a mapping with more than %d fields", maxFields)
	manyValues = fmt.Sprintf("more than %d values in one item or outside of the lists of items", maxValues)
)

// tooBig says where a text exceeds a limit.
type tooBig struct {
	line, column int
	what         string
}

func (b *tooBig) in(file string) *Error {
	return &Error{Position: Position{File: file, Line: b.line, Column: b.column}, Msg: b.what}
}

// yamlCounter counts what a YAML text has, without parsing it.
type yamlCounter struct {
	blocks    []block // the block mappings around the line
	open      []open  // the braces and brackets that are open
	quote     byte    // of the text that is open; 0: none
	values    int     // at most
	documents int
	fields    int // of the largest mapping that is open
}

// block is a block mapping: the lines of its fields are indented equally.
type block struct{ indent, fields int }

// open is a brace or bracket with the number of commas in it.
type open struct {
	with   byte
	commas int
}

// tooBigYAML looks for what exceeds the limits, without parsing: it counts the lines with a colon
// that are indented equally, the commas in braces, and everything that may begin a value. The
// lines of a long text count, too.
func tooBigYAML(text []byte) *tooBig {
	var c yamlCounter
	for number := 1; len(text) > 0; number++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if content := bytes.TrimLeft(line, " "); len(content) > 0 && content[0] != '#' {
			c.line(content, len(line)-len(content))
		}
		what := ""
		switch {
		case c.fields > maxFields:
			what = manyFields
		case c.values > maxYAML:
			what = fmt.Sprintf("more than %d values in YAML that only the parser of the whole language can read, "+
				"because it has anchors, texts over several lines or similar", maxYAML)
		case c.documents > maxDocuments:
			what = fmt.Sprintf("more than %d YAML documents", maxDocuments)
		default:
			continue
		}
		return &tooBig{number, 1, what}
	}
	return nil
}

// line counts a line with an indentation.
func (c *yamlCounter) line(content []byte, indent int) {
	c.fields = 0
	if indent == 0 && bytes.HasPrefix(content, []byte("---")) {
		c.blocks = c.blocks[:0]
		c.documents++
	}
	for bytes.HasPrefix(content, []byte("- ")) { // an element; the mapping of the one above ends
		c.end(indent + 1)
		element := bytes.TrimLeft(content[1:], " ")
		indent += len(content) - len(element)
		content = element
		c.values++
	}
	c.end(indent)
	c.values += 2
	if bytes.IndexByte(content, ':') >= 0 && bytes.IndexByte([]byte("{[}]"), content[0]) < 0 {
		c.field(indent)
	}
	c.flow(content)
}

// end removes the mappings that end because a line is indented less.
func (c *yamlCounter) end(indent int) {
	for len(c.blocks) > 0 && c.blocks[len(c.blocks)-1].indent >= indent+1 {
		c.blocks = c.blocks[:len(c.blocks)-1]
	}
}

// field counts a field of a block mapping.
func (c *yamlCounter) field(indent int) {
	if n := len(c.blocks); n == 0 || c.blocks[n-1].indent < indent {
		c.blocks = append(c.blocks, block{indent: indent})
	}
	b := &c.blocks[len(c.blocks)-1]
	b.fields++
	c.fields = max(c.fields, b.fields)
}

// flow counts what is in braces and brackets in a line.
func (c *yamlCounter) flow(content []byte) {
	before := byte(' ')
	for _, b := range content {
		begins := bytes.IndexByte([]byte(" [{,:"), before) >= 0
		switch {
		case c.quote != 0:
			if b == c.quote && before != '\\' {
				c.quote = 0
			}
		case begins && (b == '"' || b == '\''):
			c.quote = b
		case begins && (b == '{' || b == '['):
			c.open = append(c.open, open{with: b})
			c.values += 2
		default:
			c.inFlow(b)
		}
		before = b
	}
	if len(c.open) == 0 {
		c.quote = 0
	}
}

// inFlow counts a byte that begins nothing.
func (c *yamlCounter) inFlow(b byte) {
	if len(c.open) == 0 {
		return
	}
	last := &c.open[len(c.open)-1]
	switch b {
	case '}', ']':
		c.open = c.open[:len(c.open)-1]
	case ',':
		c.values += 2
		if last.commas++; last.with == '{' {
			c.fields = max(c.fields, last.commas)
		}
	}
}
