package descriptor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// checkContent refuses what would leave the table, and what is not in the content itself. The
// rest is for nft to judge.
func checkContent(content string) error {
	depth := 0
	n := 0
	for line := range strings.Lines(content) {
		n++
		bare, err := withoutText(line)
		if err != nil {
			return fmt.Errorf("line %d %w", n, err)
		}
		for i, statement := range strings.FieldsFunc(bare, func(r rune) bool { return strings.ContainsRune(";{}", r) }) {
			switch first, _, _ := strings.Cut(strings.TrimSpace(statement), " "); {
			case first == "include":
				return fmt.Errorf("line %d includes a file; expected its content", n)
			case first == "comment" && depth == 0 && i == 0 && !strings.HasPrefix(strings.TrimSpace(bare), "}"):
				return fmt.Errorf("line %d is a comment of the table, which the agent needs; expected one that begins with #", n)
			}
		}
		for _, r := range bare {
			switch r {
			case '{':
				depth++
			case '}':
				depth--
			}
			if depth < 0 {
				return fmt.Errorf("line %d has a } without a {", n)
			}
		}
	}
	if depth > 0 {
		return errors.New("has a { without a }")
	}
	return nil
}

// withoutText returns a line without quoted text and remarks.
func withoutText(line string) (string, error) {
	var b strings.Builder
	quoted := false
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
			b.WriteRune(r)
		case r == '#' && !quoted:
			return b.String(), nil
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return "", fmt.Errorf("has the control character %q", r)
		case !quoted:
			b.WriteRune(r)
		}
	}
	if quoted {
		return "", errors.New("has a quote that does not end")
	}
	return b.String(), nil
}

// plain is a content without what makes no difference: indentation, empty lines and lines
// with remarks.
func plain(content string) string {
	var b strings.Builder
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// mark is the comment of a table of an agent.
type mark struct{ owner, content string }

var markPattern = regexp.MustCompile(`^comment "tenuto:([0-9a-f]+):([0-9a-f]+)"$`)

// markOf is the mark of the table of a value.
func (d tables) markOf(v *table) mark {
	return mark{digest(d.Label + "/" + v.GetName())[:8], digest(plain(v.GetContent()))}
}

// String is the mark in the language of nft.
func (m mark) String() string { return fmt.Sprintf("comment %q", "tenuto:"+m.owner+":"+m.content) }

// split separates the mark from the rest of a printed table; it is empty if there is none.
func split(printed string) (m mark, rest string) {
	var b strings.Builder
	for line := range strings.Lines(printed) {
		if found := markPattern.FindStringSubmatch(strings.TrimSuffix(line, "\n")); found != nil {
			m = mark{found[1], found[2]}
		} else {
			b.WriteString(line)
		}
	}
	return m, b.String()
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// fingerprint identifies a table as it was printed, whatever packets added to its sets.
func fingerprint(printed string) string {
	var b strings.Builder
	var set []string // lines of the set or map at hand
	for line := range strings.Lines(printed) {
		switch {
		case strings.HasPrefix(line, "set "), strings.HasPrefix(line, "map "):
			set = []string{line}
		case len(set) > 0 && strings.TrimRight(line, "\n") == "}":
			for _, l := range settled(set) {
				b.WriteString(l)
			}
			set = nil
		case len(set) > 0:
			set = append(set, line)
		default:
			b.WriteString(line)
		}
	}
	return digest(b.String())
}

// settled returns the lines of a set or map without elements that packets may add or that
// expire.
func settled(set []string) []string {
	changes, elements := false, false
	var kept []string
	for _, line := range set {
		text := strings.TrimSpace(line)
		changes = changes || strings.HasPrefix(text, "timeout ") ||
			strings.HasPrefix(text, "flags ") && (strings.Contains(text, "dynamic") || strings.Contains(text, "timeout"))
		elements = elements || strings.HasPrefix(text, "elements = {")
		if !elements {
			kept = append(kept, line)
		}
		elements = elements && !strings.HasSuffix(text, "}")
	}
	if changes {
		return kept
	}
	return set
}

// count is a counter as nft prints it.
var count = regexp.MustCompile(`packets (\d+) bytes (\d+)`)

const zero = "packets 0 bytes 0"

// hasCounts reports whether a counter is not zero.
func hasCounts(printed string) bool {
	for _, c := range count.FindAllString(printed, -1) {
		if c != zero {
			return true
		}
	}
	return false
}

// carryCounts copies counts from the equal rules and counters of another table: of several
// equal ones, the first gets the count of the first.
func carryCounts(from, to string) string {
	counted := map[string][]string{}
	eachLine(from, func(place, line string) {
		key := place + count.ReplaceAllString(line, zero)
		counted[key] = append(counted[key], line)
	})
	var b strings.Builder
	eachLine(to, func(place, line string) {
		if same := counted[place+line]; len(same) > 0 {
			counted[place+line], line = same[1:], same[0]
		}
		b.WriteString(line)
	})
	return b.String()
}

// eachLine calls f with every line of a printed table, and the blocks that it is in.
func eachLine(printed string, f func(place, line string)) {
	var blocks []string
	for line := range strings.Lines(printed) {
		text := strings.TrimSpace(line)
		if text == "}" && len(blocks) > 0 {
			blocks = blocks[:len(blocks)-1]
		}
		f(strings.Join(blocks, "\n")+"\n", line)
		if strings.HasSuffix(text, "{") {
			blocks = append(blocks, text)
		}
	}
}
