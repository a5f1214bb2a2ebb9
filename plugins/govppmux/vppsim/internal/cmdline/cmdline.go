// Package cmdline finds and runs the commands of VPP's command line. Features register them.
package cmdline

import (
	"fmt"
	"strings"
)

// Command is a command of the command line.
type Command struct {
	// Path is the words that select it, such as "show ip fib".
	Path string
	// Run runs it. The error is what VPP prints after the output.
	Run func(*Input) error
}

// Input is one command being run.
type Input struct {
	// Args are the words behind the path that were not taken yet.
	Args []string

	out strings.Builder
}

// Tree is a set of commands; the zero value is an empty one.
type Tree struct{ root node }

// node is a word of a command's path.
type node struct {
	path     string
	children map[string]*node
	run      func(*Input) error
}

// Add adds a command, in place of one with the same path.
func (t *Tree) Add(c Command) {
	at := &t.root
	for _, word := range strings.Fields(c.Path) {
		if at.children == nil {
			at.children = make(map[string]*node)
		}
		if at.children[word] == nil {
			at.children[word] = &node{path: strings.TrimSpace(at.path + " " + word)}
		}
		at = at.children[word]
	}
	at.run = c.Run
}

// Run runs one command, words abbreviated as far as they are unambiguous. The error
// is what VPP prints after the output.
func (t *Tree) Run(line string) (string, error) {
	at, words := &t.root, strings.Fields(line)
	for len(words) > 0 {
		next := at.child(words[0])
		if next == nil {
			break
		}
		at, words = next, words[1:]
	}
	if at.run == nil {
		return "", at.fail(UnknownInput(words))
	}
	in := &Input{Args: words}
	if err := at.run(in); err != nil {
		return in.out.String(), at.fail(err)
	}
	return in.out.String(), nil
}

// child finds a word by its whole or, if only one fits, by its beginning.
func (n *node) child(word string) *node {
	if exact := n.children[word]; exact != nil {
		return exact
	}
	var found *node
	for full, child := range n.children {
		if strings.HasPrefix(full, word) {
			if found != nil {
				return nil
			}
			found = child
		}
	}
	return found
}

func (n *node) fail(err error) error {
	if n.path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", n.path, err)
}

// UnknownInput is VPP's error about words that mean nothing to it.
func UnknownInput(rest []string) error {
	return fmt.Errorf("unknown input `%s'", strings.Join(rest, " "))
}

// Next takes the next argument, empty at the end.
func (in *Input) Next() string {
	if len(in.Args) == 0 {
		return ""
	}
	arg := in.Args[0]
	in.Args = in.Args[1:]
	return arg
}

// Line prints one line; an empty one is not printed, as VPP does it.
func (in *Input) Line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	in.out.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		in.out.WriteByte('\n')
	}
}

// Center puts a text into the middle of a column, cutting off what is too long.
func Center(width int, value any) string {
	text := fmt.Sprint(value)
	if len(text) >= width {
		return text[:width]
	}
	left := (width - len(text) + 1) / 2
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", width-len(text)-left)
}
