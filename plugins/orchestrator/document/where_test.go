package document

import (
	"fmt"
	"strings"
	"testing"
)

// Errors of syntax name the line that has to be changed, and what to do.
func TestSyntaxErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a:\n  b:\n  - c: 1\n    d: [e\n    f: g\n": "f:4:5: malformed YAML: the list is not closed",
		"a:\n  b:\n  - c: 1\n     d: e\n":           "f:4:6: malformed YAML: this is not where a field can be",
		"a:\n  b:\n  - c: \"1\n    d: e\n":          "f:3:3: malformed YAML: the text in quotes is not closed",
		"a:\n  b:\n  - c: 1\n   d: e\n  x: y\n":     "f:4:4: malformed YAML: expected a field with the indentation",
		"a:\n  b:\n  - c: 1\n\td: e\n":              "f:4:2: malformed YAML: the line is indented by a tab",
		"a:\n\tb: c\n":                              "f:2:2: malformed YAML: the line is indented by a tab",
		"a:\n  b: [\n  1,\n  2]\n  c: d\n   e: f\n": "f:6:4: malformed YAML: this is not where a field can be",
		"a\n  b:\n  - c: 1\n":                       "f:2:3: malformed YAML: this is not where a field can be",
	} {
		_, failure := parseYAML("f", []byte(text))
		if failure == nil || !strings.HasPrefix(failure.Error(), want) {
			t.Errorf("%q: %v, expected %s", text, failure, want)
		}
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	text := []byte("vppConfig:\n  interfaces:\n  - name: a\n    ipAddresses:\n    - 10.0.0.1/24\n    - x\n" +
		"data:\n- key: k\n  value: {mtu: 1, memif: {id: 2}}\n")
	for _, c := range []struct {
		line, column int
		field, want  string
	}{
		{3, 5, "ip_addresses[1]", "6:7"}, {3, 5, "ip_addresses[9]", "5:5"}, {3, 5, "mtu", "3:5"},
		{8, 3, "memif.id", "9:31"}, {8, 3, "memif.secret", "9:26"}, {1, 2, "x", "1:2"},
	} {
		at := (&Locator{Text: text}).Locate(Position{Line: c.line, Column: c.column}, c.field)
		if got := fmt.Sprintf("%d:%d", at.Line, at.Column); got != c.want {
			t.Errorf("%s of %d:%d: %s, expected %s", c.field, c.line, c.column, got, c.want)
		}
	}
}
