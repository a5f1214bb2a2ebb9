package document

import "strings"

// suggestion names the known word that is most like the given one, if any is.
func suggestion(word string, known []string) string {
	best, distance := "", 1+len(word)/3
	for _, k := range known {
		dist := editDistance(plain(word), plain(k))
		if dist <= distance && (best == "" || dist < distance) {
			best, distance = k, dist
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// plain is a name without what people get wrong first: case and underscores.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// editDistance is the number of letters to insert, delete or change. Only the
// first letters of long words count.
func editDistance(a, b string) int {
	const most = 100
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
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
