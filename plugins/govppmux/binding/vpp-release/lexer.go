package main

import (
	"fmt"
	"regexp"
	"strings"
)

// tokenKind is what a token of the API language is.
type tokenKind uint8

const (
	endOfFile tokenKind = iota
	word                // a name or keyword
	number
	text        // a string with its quotes
	punctuation // one character
)

type token struct {
	kind tokenKind
	text string
	line int
}

func (t token) String() string {
	if t.kind == endOfFile {
		return "the end of the file"
	}
	return fmt.Sprintf("%q", t.text)
}

// tokens are what a file may consist of. The first group matches what separates tokens.
var tokens = regexp.MustCompile(`^(?:([ \t\r\n]+|//[^\n]*|/\*(?s:.*?)\*/)` +
	`|([a-zA-Z_][a-zA-Z_0-9]*)` +
	`|(0[xX][0-9a-fA-F]+|-?[0-9]+\.?[0-9]*)` +
	`|("(?:[^"\\\n]|\\.)*")` +
	`|([:{}\[\];=.,]))`)

// lex splits the text of an API file.
func lex(input string) ([]token, error) {
	var all []token
	line := 1
	for rest := input; rest != ""; {
		m := tokens.FindStringSubmatchIndex(rest)
		if m == nil {
			first, _, _ := strings.Cut(rest, "\n")
			return nil, fmt.Errorf("%d: unexpected text %.20q", line, first)
		}
		for kind := word; kind <= punctuation; kind++ {
			if m[2*kind+2] >= 0 {
				all = append(all, token{kind, rest[:m[1]], line})
			}
		}
		line += strings.Count(rest[:m[1]], "\n")
		rest = rest[m[1]:]
	}
	return append(all, token{endOfFile, "", line}), nil
}
