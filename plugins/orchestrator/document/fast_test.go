package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// tiny is from which size on lists are long in tests, and the size of a piece.
const tiny = 10

// readLong reads the long lists in what a parser made; false if they are not
// plain.
func readLong(n *yaml.Node) bool {
	if isLong(n) {
		for _, c := range cut(n, tiny) {
			if plain, _ := c.each(func(e *yaml.Node) bool { n.Content = append(n.Content, copied(e)); return true }); !plain {
				return false
			}
		}
		n.Value = ""
		return true
	}
	return !slices.ContainsFunc(n.Content, func(e *yaml.Node) bool { return !readLong(e) })
}

// difference compares what two parsers make of a text.
func difference(a, b *yaml.Node) string {
	content := a.Content
	switch {
	case a.Kind != b.Kind, a.Tag != b.Tag, a.Value != b.Value, a.Line != b.Line, a.Column != b.Column,
		a.Style != b.Style, b.Alias != nil, b.Anchor != "", len(content) != len(b.Content):
		return fmt.Sprintf("%d:%d: kind %d tag %s style %d value %q with %d children\n%d:%d: kind %d tag %s style %d value %q with %d children",
			a.Line, a.Column, a.Kind, a.Tag, a.Style, a.Value, len(content), b.Line, b.Column, b.Kind, b.Tag, b.Style, b.Value, len(b.Content))
	}
	for i := range content {
		if d := difference(content[i], b.Content[i]); d != "" {
			return d
		}
	}
	return ""
}

func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, e := range n.Content {
		c.Content = append(c.Content, copied(e))
	}
	return &c
}

// What is plain is read as the parser of the whole language reads it.
func checkPlain(t *testing.T, text string) (isPlain bool) {
	t.Helper()
	for _, long := range []int{tiny, len(text)} {
		root, lists, _, ok := parsePlain(text, long)
		if !ok || !readLong(root) {
			return false
		}
		if lists > 0 && long == len(text) {
			t.Fatalf("%d lists are longer than all of the text\n%q", lists, text)
		}
		roots, err := parseYAML("a.yaml", []byte(text))
		if err != nil || len(roots) != 1 {
			t.Fatalf("plain, but: %v, %d documents\n%q", err, len(roots), text)
		}
		if d := difference(root, roots[0]); d != "" {
			t.Fatalf("read as\n%s\n%q", d, text)
		}
	}
	return true
}

// plainTexts are plain, the others are left to the other parser.
var plainTexts = []string{
	"vppConfig:\n  routes:\n  - {dstNetwork: 10.1.2.3/32, nextHopAddr: 10.1.0.2, outgoingInterface: loop1, weight: 5}\n",
	"vppConfig:\n  routes:\n    - dst_network: 2001:db8::/32\n      next_hop_addr: \"fe80::1\"\n\n      weight: 10 # most\n    # a comment\n    - dst_network: 1::/64",
	"a:\n- b\n- c\nd:\n  e: true\n  f: Null\n  'g': 'h i'\n",
	"a: [1, 2, {b: c, d: []}, [x]]\nb: {}\nc: [] # none\n#end",
	"a:\n  - [1, 2]\n  -   x\n  - \"y: z\"\n  - q: r\n    s:\n    - t\n\n",
	"# first\n\na:\n     b:\n       c: d\n  # less\n     e: f\n",
	"a: b-c\ne: 7a/b\nf: x:y\ng: 10.0.0.1\nh: 0\n",
	"  \na: b   \n",
	"---\na: b",
}

var otherTexts = []string{
	"", "a", "- a", "a: &x b", "a: *x", "a: |\n  b", "a: >-\n  b", "a:\n", "a: b\n  c", "a: 'b\n c'", "a: {b: c,\n d: e}", "? a\n: b",
	"a: b\n---\nc: d", "---\n---\na: b", "--- a", "a: 1.5", "a: 0x10", "a: 010", "a: 2020-01-02", "a: b c", "a: ~", "a: b#c", "a:b", "a: {b:c}", "a: [b, ]",
	"a: \"b\\n\"", "a: 'it''s'", "\ta: b", "a:\tb", "a: b\r\n", "a: é", "a: 'é'", "!!str a: b", "<<: a", " a: b", "a:\n b: c\n  d: e", "a:\n  - b\n - c",
	"a: %b", "a: @b", "a: b:", "a: {b}", "a: -5", "a: 1_0", "a: .5", "a:\n- b: c\n   d: e",
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, text := range append(plainTexts, "a: "+strings.Repeat("x", 1100), "a:\n- "+strings.Repeat("x", 1100)) {
		if !checkPlain(t, text) {
			t.Errorf("not plain: %q", text)
		}
	}
	long := strings.Repeat("x", 1100)
	for _, text := range append(otherTexts, long+": a", "a: {"+long+": b}", "a:\n- "+long+": b", "a: b\n"+long+": c") {
		if checkPlain(t, text) {
			t.Errorf("plain: %q", text)
		}
	}
}

// A list that is too long for one piece, also if an element is not plain.
func TestPlainLongList(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("vppConfig:\n  x:\n")
	for i := range 500 {
		fmt.Fprintf(&b, "  - {a: 10.%d.%d.0/24, b: loop%d}\n  # between\n  -  c:\n      - %d\n", i>>8, i&255, i%7, i)
	}
	text := b.String() + "  y: z\n"
	root, lists, _, ok := parsePlain(text, 1000)
	if !ok || lists != 1 || !isLong(root.Content[1].Content[1]) {
		t.Fatal("not read as a long list")
	}
	if !checkPlain(t, text) {
		t.Error("not plain")
	}
	if readLong(&yaml.Node{Kind: yaml.SequenceNode, Value: "- a\n- b: &x c\n", Line: 1, Column: 1}) {
		t.Error("an anchor is taken for plain")
	}
}

func FuzzPlain(f *testing.F) {
	for _, text := range append(plainTexts, otherTexts...) {
		f.Add(text)
	}
	for _, text := range []string{"a: [] #\x1f", "# \u0080\na: 1", "#\ufeff\na: 1", "a: '\uffff'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if invalidUTF8([]byte(text)) < 0 {
			checkPlain(t, text)
		}
	})
}
