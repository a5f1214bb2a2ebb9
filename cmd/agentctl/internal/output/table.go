package output

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Table is a table for people. Cells may have several lines and colours.
type Table struct {
	rows  [][]string // the first one has the headings
	Ruled bool       // lines around and between the rows
	tight bool       // narrow gaps between the columns
}

// NewTable returns a table without lines, for one row per line.
func NewTable(headings ...string) *Table { return &Table{rows: [][]string{headings}} }

// Row adds a row; missing cells at its end are empty.
func (g *Table) Row(cells ...any) {
	texts := make([]string, len(g.rows[0]))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	g.rows = append(g.rows, texts)
}

// Write writes the table without columns that are empty. If it is wider than the
// terminal, the last column is wrapped between words, and then the first one between the
// parts of keys; if that does not suffice, the gaps are narrower, and then the other columns
// are wrapped, too.
func (g *Table) Write(p *Printer) error {
	var b strings.Builder
	if !g.Ruled {
		g.dropEmpty()
		g.fit(p.Term.Width)
	}
	widths := g.widths()
	rule := ""
	if g.Ruled {
		for _, n := range widths {
			rule += "+" + strings.Repeat("-", n+2)
		}
		rule += "+\n"
	}
	b.WriteString(rule)
	for _, row := range g.rows {
		g.writeRow(&b, row, widths)
		b.WriteString(rule)
	}
	return p.Print(b.String())
}

func (g *Table) dropEmpty() {
	for i := len(g.rows[0]) - 1; i >= 0 && len(g.rows) > 1; i-- {
		if !slices.ContainsFunc(g.rows[1:], func(row []string) bool { return row[i] != "" }) {
			for n := range g.rows {
				g.rows[n] = slices.Delete(g.rows[n], i, i+1)
			}
		}
	}
}

// MinWidth is the least width of a column that is wrapped: a narrower one is not readable.
// minNarrow is the minimum width of columns in a table that is too wide nevertheless.
const (
	MinWidth  = 20
	minNarrow = 12
)

func (g *Table) fit(terminal int) {
	last := len(g.rows[0]) - 1
	g.wrapColumn(last, terminal, MinWidth, true)
	g.wrapColumn(0, terminal, MinWidth, true)
	if g.over(terminal) <= 0 {
		return
	}
	g.tight = true
	for column := last - 1; column > 0; column-- {
		g.wrapColumn(column, terminal, minNarrow, false)
	}
	g.wrapColumn(last, terminal, minNarrow, false)
}

// over returns by how many characters the table is wider than the terminal.
func (g *Table) over(terminal int) int {
	if terminal == 0 {
		return 0
	}
	over := -terminal - len(g.gap())
	for _, n := range g.widths() {
		over += n + len(g.gap())
	}
	return over
}

// wrapColumn wraps a column of a table that is too wide, see Wrap. Between whole words it
// leaves coloured cells as they are: their Colour would extend to the next column.
func (g *Table) wrapColumn(column, terminal, least int, split bool) {
	over := g.over(terminal)
	if over <= 0 {
		return
	}
	limit := max(g.widths()[column]-over, least)
	for _, row := range g.rows {
		if split || !strings.Contains(row[column], "\x1b") {
			row[column] = Wrap(row[column], limit, split)
		}
	}
}

// ColumnGap separates the columns of a table without lines, tightGap the columns of a table that is
// too wide.
const (
	ColumnGap = "   "
	tightGap  = "  "
)

func (g *Table) gap() string {
	if g.tight {
		return tightGap
	}
	return ColumnGap
}

// wordParts are the parts of keys and names.
var wordParts = regexp.MustCompile(`[^/_.]*[/_.]?`)

// Wrap breaks the lines of a text between words, where they are wider than limit; split also
// breaks words that are wider than that, between their parts.
func Wrap(text string, limit int, split bool) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = wrapLine(line, limit, split)
	}
	return strings.Join(lines, "\n")
}

func wrapLine(text string, limit int, split bool) string {
	var out strings.Builder
	used, indent := 0, len(text)-len(strings.TrimLeft(text, " "))+2
	for i, word := range strings.Split(text, " ") {
		if n := Width(word); i > 0 && used+1+n > limit && (n <= limit || !split) {
			out.WriteByte('\n')
			used = 0
		} else if i > 0 {
			out.WriteByte(' ')
			used++
		}
		parts := []string{word}
		if split {
			parts = wordParts.FindAllString(word, -1)
		}
		for n, part := range parts {
			if n > 0 && used+Width(part) > limit {
				out.WriteString("\n" + strings.Repeat(" ", indent))
				used = indent
			}
			out.WriteString(part)
			used += Width(part)
		}
	}
	return out.String()
}

func (g *Table) writeRow(b *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		cells[i] = strings.Split(strings.TrimRight(cell, "\n"), "\n")
		height = max(height, len(cells[i]))
	}
	for n := range height {
		var line strings.Builder
		for i, lines := range cells {
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			pad := strings.Repeat(" ", widths[i]-Width(text))
			if g.Ruled {
				line.WriteString("| " + text + pad + " ")
			} else {
				line.WriteString(text + pad + g.gap())
			}
		}
		if g.Ruled {
			b.WriteString(line.String() + "|\n")
		} else {
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
}

func (g *Table) widths() []int {
	widths := make([]int, len(g.rows[0]))
	for _, row := range g.rows {
		for i, cell := range row {
			for line := range strings.SplitSeq(cell, "\n") {
				widths[i] = max(widths[i], Width(line))
			}
		}
	}
	return widths
}

// Width is the number of columns that a text takes on a terminal, colours not counted: wide
// characters take two, combining ones none.
func Width(text string) int {
	if strings.Contains(text, "\x1b[") {
		text = colours.ReplaceAllString(text, "")
	}
	return uniseg.StringWidth(text)
}

var colours = regexp.MustCompile("\x1b\\[[^m]*m")

// Colour is the escape sequence that begins a Colour.
type Colour string

// The colours of states and operations.
const (
	Red     Colour = "\x1b[31m"
	Green   Colour = "\x1b[32m"
	Yellow  Colour = "\x1b[33m"
	Magenta Colour = "\x1b[35m"
	Cyan    Colour = "\x1b[36m"
	reset   Colour = "\x1b[0m"
)
