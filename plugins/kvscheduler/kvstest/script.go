package kvstest

import (
	"fmt"
	"strings"
)

// script is a parsed scenario: commands with the output they should have, and
// files. It has the txtar format:
//
//	# A comment.
//	commit if/1 'route/1={deps: [if/1]}'
//	> CREATE if/1
//	> CREATE route/1
//	-- if/1 --
//	{value: 1}
type script struct {
	lines []line
	files map[string]string
	tail  string // the files as they were written
}

// line is a command with its expected output, or a line without meaning
// (a comment, an empty line).
type line struct {
	number int
	text   string
	words  []string // of a command; nil otherwise
	want   []string
}

func parseScript(text string) (*script, error) {
	s := &script{files: map[string]string{}}
	commands, files := text, ""
	if i := strings.Index("\n"+text, "\n-- "); i >= 0 {
		commands, files = text[:i], text[i:]
	}
	s.tail = files
	s.parseFiles(files)
	for i, raw := range strings.Split(strings.TrimSuffix(commands, "\n"), "\n") {
		if out, ok := strings.CutPrefix(raw, ">"); ok {
			n := len(s.lines)
			if n == 0 || s.lines[n-1].words == nil {
				return nil, fmt.Errorf("line %d: output without a command", i+1)
			}
			s.lines[n-1].want = append(s.lines[n-1].want, strings.TrimPrefix(out, " "))
			continue
		}
		l := line{number: i + 1, text: raw}
		if trimmed := strings.TrimSpace(raw); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			words, err := splitWords(trimmed)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			l.words = words
		}
		s.lines = append(s.lines, l)
	}
	return s, nil
}

func (s *script) parseFiles(text string) {
	name := ""
	for _, raw := range strings.SplitAfter(text, "\n") {
		trimmed := strings.TrimSpace(raw)
		if strings.HasPrefix(trimmed, "-- ") && strings.HasSuffix(trimmed, " --") {
			name = strings.TrimSpace(trimmed[3 : len(trimmed)-3])
			s.files[name] = ""
		} else if name != "" {
			s.files[name] += raw
		}
	}
}

// splitWords splits at spaces; single quotes keep spaces in a word.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for _, r := range text {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("quote is not closed in %s", text)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// format is the text of the script with the given outputs, by index of lines.
func (s *script) format(outputs map[int][]string) string {
	var b strings.Builder
	for i, l := range s.lines {
		b.WriteString(l.text + "\n")
		want, ran := outputs[i]
		if !ran {
			want = l.want
		}
		for _, out := range want {
			b.WriteString(strings.TrimRight("> "+out, " ") + "\n")
		}
	}
	return b.String() + s.tail
}
