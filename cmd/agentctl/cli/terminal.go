package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// terminal is what a program needs to know about the terminal of its user.
type terminal struct {
	in, out bool // the standard input and the output are a terminal
	width   int  // in characters; 0: unknown, or no terminal
}

func findTerminal(out io.Writer) (t terminal) {
	t.in = term.IsTerminal(int(os.Stdin.Fd()))
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return t
	}
	t.out = true
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		t.width = width
	}
	return t
}

// interactive reports whether a user can be asked.
func (a *app) interactive() bool { return a.term.in && a.term.out }

// ask asks a question that only "y" or "yes" answers with yes. The end of the input is
// a no.
func (a *app) ask(in io.Reader, question string) (yes bool, err error) {
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	fmt.Fprintln(a.Err, "nothing was changed")
	return false, nil
}

// writeField writes a label and a text. Text that is wider than the terminal is wrapped, and
// its further lines are below the first one.
func (a *app) writeField(b *strings.Builder, label, text string) {
	indent := width(label)
	if a.term.width > 0 {
		text = wrap(text, max(a.term.width-indent, minWidth), true)
	}
	fmt.Fprintf(b, "%s%s\n", label, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent)))
}

// paint colours text if the output is a terminal with colours.
func (a *app) paint(c colour, s string) string {
	if !a.term.out {
		return s
	}
	if v, _ := a.environ("NO_COLOR"); v != "" {
		return s
	}
	if v, _ := a.environ("TERM"); v == "dumb" {
		return s
	}
	return string(c) + s + string(reset)
}
