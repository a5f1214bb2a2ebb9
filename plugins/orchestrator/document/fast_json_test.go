package document

import (
	"strings"
	"testing"
)

// What the fast reader of JSON reads, the other one reads alike.
func checkPlainJSON(t *testing.T, text string) (isPlain bool) {
	t.Helper()
	for _, long := range []int{tiny, len(text)} {
		root, _, _, ok := parsePlainJSON(text, long)
		if !ok || !readLong(root) {
			return false
		}
		want, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatalf("plain, but: %v\n%q", err, text)
		}
		if d := difference(root, want); d != "" {
			t.Fatalf("read as\n%s\n%q", d, text)
		}
	}
	return true
}

var plainJSON = []string{
	`{}`, " {\n} \r\n\t", `{"a": [], "b": {}, "c": [ ]}`,
	`{"a": [1, -2, 0, -0, 1.5, 1e9, 0E-1, -1.25e+3], "b": [true, false, null], "c": "d"}`,
	"{\"a\": [\n {\"b\": \"c\"},\n\t{\"b\": [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9]]}, \n\n  10, 11\n]}\n",
	`{"a": {"b": ["] }, {", "\"]", "\\", "\u00e9\n\ud83d\ude00\ud800", "é,é", "äöü"], "c": ["é", 1, "é", 2]}}`,
	"{\"a\": \"\x7f \u2028\"}", `{"a": 1, "a": 2}`,
	`{"a": ` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`,
}

var otherJSON = []string{
	``, `[]`, `1`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1,,2,3,4,5,6,7]}`, `{"a" 1}`, `{a: 1}`, `{"a": 01}`,
	`{"a": +1}`, `{"a": 1.}`, `{"a": .5}`, `{"a": 1e}`, `{"a": -}`, `{"a": tru}`, `{"a": nulll}`, `{"a": "b}`, `{"a": "\x"}`, "{\"a\": \"\n\"}", `{"a": [1}`,
	`{"a": [1, 2, 3, 4, 5, 6, 7, 8}`, `{"a": [1, 2, 3, 4, 5, 6] 7, 8]}`, `{} {}`, `{}x`, "{\x00}", `{"a": [1 2 3 4 5 6 7 8 9]}`, `{"a": [{"b": 1], "c": [2}]}`,
	`{"a": ` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
}

func TestPlainJSON(t *testing.T) {
	t.Parallel()
	for _, text := range plainJSON {
		if !checkPlainJSON(t, text) {
			t.Errorf("not plain: %q", text)
		}
	}
	for _, text := range otherJSON {
		if checkPlainJSON(t, text) {
			t.Errorf("plain: %q", text)
		}
	}
}

func FuzzPlainJSON(f *testing.F) {
	for _, text := range append(plainJSON, otherJSON...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if invalidUTF8([]byte(text)) < 0 {
			checkPlainJSON(t, text)
		}
	})
}
