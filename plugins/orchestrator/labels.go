package orchestrator

import (
	"fmt"
	"strings"
)

// Labelled reports whether an item has all labels of a filter: with the value, or with
// any if that is empty. Labels that begin with "!" it must not have.
func Labelled(labels, filter map[string]string) bool {
	for name, value := range filter {
		name, not := strings.CutPrefix(name, "!")
		have, ok := labels[name]
		if ok && (value == "" || have == value) == not || !ok && !not {
			return false
		}
	}
	return true
}

// parseLabels reads labels as in "team=blue,owner"; nil for an empty text.
func parseLabels(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	labels := map[string]string{}
	for _, label := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(label, "=")
		if _, twice := labels[name]; twice || strings.Trim(name, "!") == "" {
			return nil, fmt.Errorf("parameter labels: %q: expected different labels, as in team=blue,owner", text)
		}
		labels[name] = value
	}
	return labels, nil
}
