package models

import (
	"fmt"
	"strings"
)

// InvalidPart replaces an empty argument in a key, as existing clients expect.
const InvalidPart = "<invalid>"

// KeyTemplate builds and parses keys that belong to no model: keys of derived
// values and of southbound notifications, such as
// "vpp/bd/{bd}/interface/{iface}".
type KeyTemplate struct {
	literals []string // literals[i] precedes argument i; one more follows the last
	names    []string
}

// MustKeyTemplate parses a template; it panics if braces do not pair up, two
// arguments touch, or there is no literal in front. For package variables.
func MustKeyTemplate(text string) KeyTemplate {
	t, err := ParseKeyTemplate(text)
	if err != nil {
		panic(err)
	}
	return t
}

// ParseKeyTemplate parses a template; arguments are written {name}.
func ParseKeyTemplate(text string) (KeyTemplate, error) {
	var t KeyTemplate
	rest := text
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(rest, '}')
		if end < open {
			return t, fmt.Errorf("key template %q: unpaired brace", text)
		}
		if open == 0 {
			return t, fmt.Errorf("key template %q: an argument needs literal text in front of it", text)
		}
		t.literals = append(t.literals, rest[:open])
		t.names = append(t.names, rest[open+1:end])
		rest = rest[end+1:]
	}
	if strings.IndexByte(rest, '}') >= 0 {
		return t, fmt.Errorf("key template %q: unpaired brace", text)
	}
	t.literals = append(t.literals, rest)
	return t, nil
}

// Key fills in the arguments in order. An empty or missing argument becomes
// InvalidPart; surplus arguments are ignored.
func (t KeyTemplate) Key(args ...string) string { return t.fill(len(t.names), args) }

// Prefix returns the key up to and excluding the argument after the given
// ones, for AnyOf dependencies.
func (t KeyTemplate) Prefix(args ...string) string { return t.fill(len(args), args) }

// fill returns the key up to the argument n.
func (t KeyTemplate) fill(n int, args []string) string {
	var b strings.Builder
	for i := range t.names {
		b.WriteString(t.literals[i])
		if i == n {
			return b.String()
		}
		arg := InvalidPart
		if i < len(args) && args[i] != "" {
			arg = args[i]
		}
		b.WriteString(arg)
	}
	b.WriteString(t.literals[len(t.names)])
	return b.String()
}

// Parse splits a key into its arguments. Arguments may contain slashes; every
// argument but the last ends at the first occurrence of the literal behind it.
func (t KeyTemplate) Parse(key string) (args []string, ok bool) {
	rest, ok := strings.CutPrefix(key, t.literals[0])
	if !ok {
		return nil, false
	}
	for i := range t.names {
		next := t.literals[i+1]
		var arg string
		if i == len(t.names)-1 {
			if arg, ok = strings.CutSuffix(rest, next); !ok {
				return nil, false
			}
			rest = ""
		} else if arg, rest, ok = strings.Cut(rest, next); !ok {
			return nil, false
		}
		if arg == "" {
			return nil, false
		}
		if arg == InvalidPart {
			arg = ""
		}
		args = append(args, arg)
	}
	return args, rest == ""
}

// Matches reports whether the key matches the template.
func (t KeyTemplate) Matches(key string) bool {
	_, ok := t.Parse(key)
	return ok
}
