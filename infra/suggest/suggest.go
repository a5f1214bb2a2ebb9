// Package suggest finds the known word that a misspelled one was probably meant to be,
// for "did you mean" in error messages.
package suggest

import "strings"

// Nearest returns the known word that is most similar to word; the first one if there
// are several, and an empty string if none is similar. Case, underscores and dashes do
// not count. Words are similar if at most a third of the letters of word, plus one, are
// inserted, deleted or replaced.
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
	return best
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
