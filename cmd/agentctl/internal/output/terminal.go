package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Terminal is what a program needs to know about the terminal of its user.
type Terminal struct {
	In, Out bool // the standard input and the output are a terminal
	Width   int  // in characters; 0: unknown, or no terminal
}

// FindTerminal describes the terminal of the standard input and of an output.
func FindTerminal(out io.Writer) (t Terminal) {
	t.In = term.IsTerminal(int(os.Stdin.Fd()))
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return t
	}
	t.Out = true
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		t.Width = width
	}
	return t
}

// Interactive reports whether a user can be asked.
func (p *Printer) Interactive() bool { return p.Term.In && p.Term.Out }

// Ask asks a question that only "y" or "yes" answers with yes. The end of the input is
// a no.
func (p *Printer) Ask(in io.Reader, question string) (yes bool, err error) {
	fmt.Fprintf(p.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	fmt.Fprintln(p.Err, "nothing was changed")
	return false, nil
}

// WriteField writes a label and a text. Text that is wider than the terminal is wrapped, and
// its further lines are below the first one.
func (p *Printer) WriteField(b *strings.Builder, label, text string) {
	indent := Width(label)
	if p.Term.Width > 0 {
		text = Wrap(text, max(p.Term.Width-indent, MinWidth), true)
	}
	fmt.Fprintf(b, "%s%s\n", label, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent)))
}

// Paint colours text if the output is a terminal with colours.
func (p *Printer) Paint(c Colour, s string) string {
	if !p.Term.Out {
		return s
	}
	if v, _ := p.Environ("NO_COLOR"); v != "" {
		return s
	}
	if v, _ := p.Environ("TERM"); v == "dumb" {
		return s
	}
	return string(c) + s + string(reset)
}
