package descriptor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// splitRule splits a rule into arguments as a shell does: single quotes keep everything,
// double quotes keep spaces, and a backslash keeps the next character.
func splitRule(rule string) ([]string, error) {
	var s splitter
	for _, c := range rule {
		if unicode.IsControl(c) && c != '\t' {
			return nil, fmt.Errorf("has the control character %q; expected one line of arguments", c)
		}
		s.next(c)
	}
	if s.quote != 0 || s.escaped {
		return nil, errors.New("has a quote that does not end")
	}
	if s.next(' '); len(s.args) == 0 {
		return nil, errors.New("empty; expected the arguments of iptables after the chain, such as -s 192.168.0.1 -j ACCEPT")
	}
	return s.args, nil
}

// splitter is the state of splitRule.
type splitter struct {
	args    []string
	arg     strings.Builder
	inside  bool // an argument
	quote   rune // 0: none
	escaped bool
}

func (s *splitter) next(c rune) {
	switch {
	case s.escaped:
		s.arg.WriteRune(c)
		s.escaped = false
	case c == '\\' && s.quote != '\'':
		s.escaped, s.inside = true, true
	case s.quote != 0 && c == s.quote:
		s.quote = 0
	case s.quote != 0:
		s.arg.WriteRune(c)
	case c == '\'' || c == '"':
		s.quote, s.inside = c, true
	case c != ' ' && c != '\t':
		s.arg.WriteRune(c)
		s.inside = true
	case s.inside:
		s.args, s.inside = append(s.args, s.arg.String()), false
		s.arg.Reset()
	}
}

// joinRule writes arguments as iptables-restore reads them.
func joinRule(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t\"'\\") {
			arg = `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, `'`, `\'`).Replace(arg) + `"`
		}
		quoted[i] = arg
	}
	return strings.Join(quoted, " ")
}

// line returns a rule for iptables-restore; rules that were checked have one.
func line(rule string) string {
	args, err := splitRule(rule)
	if err != nil {
		return rule
	}
	return joinRule(args)
}

// sameRule reports whether two rules have the same arguments.
func sameRule(a, b string) bool { return a == b || line(a) == line(b) }

// argument returns the argument after an option; empty if there is none.
func argument(args []string, option string) string {
	if i := slices.Index(args, option); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}
