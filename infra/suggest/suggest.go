// Package suggest finds the known word that a misspelled one was probably meant to be,
// for "did you mean" in error messages.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the known word that is most similar to word; the first one if there
// are several, and an empty string if none is similar. Case, underscores and dashes do
// not count. Words are similar if at most a third of the letters are inserted, deleted,
// replaced, or exchanged with the next; of two letters, none. If none is, Nearest returns the
// only known word that begins with word, or else the only one that has word as a part
// ("SOFTWARE_LOOPBACK" for "LOOPBACK").
func Nearest(word string, known []string) string {
	if len(word) > maxLetters {
		return ""
	}
	best, limit := "", 0
	if n := len(letters(word)); n >= minPrefix {
		limit = (n + 1) / 3
	}
	for _, k := range known {
		if d := Distance(letters(word), letters(k)); d <= limit && word != "" {
			best, limit = k, d-1
		}
	}
	if best == "" {
		best = onlyWithPrefix(letters(word), known)
	}
	if best == "" {
		if of := WithPart(word, known); len(of) == 1 {
			best = of[0]
		}
	}
	return best
}

// WithPart returns the known names that contain word as a part, or as consecutive parts. Dots,
// dashes and underscores separate parts; case and the "s" of a plural do not count.
func WithPart(word string, known []string) (found []string) {
	parts := singular(partsOf(word))
	if len(letters(word)) < minPrefix || len(parts) == 0 {
		return nil
	}
	for _, k := range known {
		of := singular(partsOf(k))
		for i := range of {
			if i+len(parts) <= len(of) && slices.Equal(of[i:i+len(parts)], parts) {
				found = append(found, k)
				break
			}
		}
	}
	return found
}

// WithElement returns the known names that contain word as an element between dots. Exact matches come first, then
// shorter names. Case and the "s" of a plural do not count.
func WithElement(word string, known []string) (found []string) {
	rank := func(name string) int {
		best := 2
		for element := range strings.SplitSeq(strings.ToLower(name), ".") {
			switch {
			case element == strings.ToLower(word):
				best = 0
			case strings.TrimSuffix(element, "s") == strings.TrimSuffix(strings.ToLower(word), "s"):
				best = min(best, 1)
			}
		}
		return best
	}
	for _, k := range known {
		if word != "" && rank(k) < 2 {
			found = append(found, k)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a), len(b)))
	})
	return found
}

func singular(parts []string) []string {
	for i, p := range parts {
		parts[i] = strings.TrimSuffix(p, "s")
	}
	return parts
}

// minPrefix is the number of letters that say which word is meant, if no other begins with them.
const minPrefix = 3

// onlyWithPrefix returns the known word that begins with a prefix; empty if there are others.
func onlyWithPrefix(prefix string, known []string) (only string) {
	if len(prefix) < minPrefix {
		return ""
	}
	for _, k := range known {
		if strings.HasPrefix(letters(k), prefix) {
			if only != "" {
				return ""
			}
			only = k
		}
	}
	return only
}

// ByParts returns the known name that a name was probably meant to be. Dots, dashes and
// underscores separate the parts of names. It tries in this order: the shortest known name whose
// parts contain all parts of name ("vpp.nat.dnat44" for "vpp.nat.nat44-dnat"), a known name that
// name begins with ("vpp.interfaces" for "vpp.interfaces.memif"), and Nearest.
func ByParts(name string, known []string) string {
	best, beginning := "", ""
	parts := partsOf(name)
	for _, k := range known {
		if strings.HasPrefix(name, k+".") {
			beginning = k
		}
		if hasAll(partsOf(k), parts) && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return cmp.Or(best, beginning, Nearest(name, known))
}

func partsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '.' || r == '-' || r == '_' })
}

// hasAll reports whether each part is contained in one of the known parts.
func hasAll(known, parts []string) bool {
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool {
		return !slices.ContainsFunc(known, func(k string) bool { return strings.Contains(k, part) })
	})
}

// maxLetters limits the words that are compared, in bytes.
const maxLetters = 100

var separators = strings.NewReplacer("_", "", "-", "")

// letters returns a word in lower case and without separators.
func letters(word string) string { return strings.ToLower(separators.Replace(word)) }

// Distance returns the distance between the first 100 bytes of two words: the number of bytes to
// insert, delete or replace, or to exchange with the next one.
func Distance(a, b string) int {
	a, b = a[:min(len(a), maxLetters)], b[:min(len(b), maxLetters)]
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
