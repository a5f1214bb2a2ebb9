package grpc

import (
	"strings"
	"testing"
)

// What is in the file of tokens never panics and is never in an error.
func FuzzTokens(f *testing.F) {
	f.Add("secret\n# comment\nyoung 2999-01-01T00:00:00Z\n")
	f.Add("a b c")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := parseTokens([]byte(text))
		if (err == nil) != (len(tokens) > 0) {
			t.Errorf("%d tokens, %v", len(tokens), err)
		}
		if word := strings.Fields(text + " x")[0]; err != nil && len(word) > 20 && strings.Contains(err.Error(), word) {
			t.Errorf("the error has a token: %v", err)
		}
	})
}
