package document

import "github.com/tenuto-dev/tenuto/infra/suggest"

// suggestion names the known word that is most similar to the given one, if any is.
func suggestion(word string, known []string) string {
	if best := suggest.Nearest(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
