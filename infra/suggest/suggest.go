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
// not count. Words are similar if at most a third of the letters of word, plus one, are
// inserted, deleted or replaced. If none is, Nearest returns the only known word that
// begins with word.
func Nearest(word string, known []string) string {
	if len(word) > maxLetters {
		return ""
	}
	best, limit := "", 1+len(word)/3
	for _, k := range known {
		if d := Distance(letters(word), letters(k)); d <= limit {
			best, limit = k, d-1
		}
	}
	if best == "" {
		return onlyWithPrefix(letters(word), known)
	}
	return best
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

// Distance returns the Levenshtein distance between the first 100 bytes of two words: the
// number of bytes to insert, delete or replace.
func Distance(a, b string) int {
	a, b = a[:min(len(a), maxLetters)], b[:min(len(b), maxLetters)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
