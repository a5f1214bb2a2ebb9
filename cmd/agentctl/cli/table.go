package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// grid is a table for people. Cells may have several lines and colours.
type grid struct {
	rows  [][]string // the first one has the headings
	ruled bool       // lines around and between the rows
}

// newTable returns a table without lines, for one row per line.
func newTable(headings ...string) *grid { return &grid{rows: [][]string{headings}} }

// row adds a row; missing cells at its end are empty.
func (g *grid) row(cells ...any) {
	texts := make([]string, len(g.rows[0]))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	g.rows = append(g.rows, texts)
}

// write writes the table without columns that are empty. If it is wider than the
// terminal, the last column is wrapped between words, and then the first one between the
// parts of keys.
func (g *grid) write(a *app) error {
	var b strings.Builder
	if !g.ruled {
		g.dropEmpty()
		g.fit(a.term.width)
	}
	widths := g.widths()
	rule := ""
	if g.ruled {
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
	return a.print(b.String())
}

func (g *grid) dropEmpty() {
	for i := len(g.rows[0]) - 1; i >= 0 && len(g.rows) > 1; i-- {
		if !slices.ContainsFunc(g.rows[1:], func(row []string) bool { return row[i] != "" }) {
			for n := range g.rows {
				g.rows[n] = slices.Delete(g.rows[n], i, i+1)
			}
		}
	}
}

// minWidth is the least width of a column that is wrapped: a narrower one is not readable.
const minWidth = 20

func (g *grid) fit(terminal int) {
	for _, column := range []int{len(g.rows[0]) - 1, 0} {
		over := -terminal - len(columnGap)
		widths := g.widths()
		for _, n := range widths {
			over += n + len(columnGap)
		}
		if terminal == 0 || over <= 0 {
			return
		}
		for _, row := range g.rows {
			row[column] = wrap(row[column], max(widths[column]-over, minWidth), "/")
		}
	}
}

// columnGap is between the columns of a table without lines.
const columnGap = "   "

// wrap breaks the lines of a text between words, where they are wider than limit, and
// words that are wider than that after a mark; "" keeps them whole.
func wrap(text string, limit int, mark string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = wrapLine(line, limit, mark)
	}
	return strings.Join(lines, "\n")
}

func wrapLine(text string, limit int, mark string) string {
	var out strings.Builder
	used, indent := 0, len(text)-len(strings.TrimLeft(text, " "))+2
	for i, word := range strings.Split(text, " ") {
		if n := width(word); i > 0 && used+1+n > limit && (n <= limit || mark == "") {
			out.WriteByte('\n')
			used = 0
		} else if i > 0 {
			out.WriteByte(' ')
			used++
		}
		parts := []string{word}
		if mark != "" {
			parts = strings.SplitAfter(word, mark)
		}
		for n, part := range parts {
			if n > 0 && used+width(part) > limit {
				out.WriteString("\n" + strings.Repeat(" ", indent))
				used = indent
			}
			out.WriteString(part)
			used += width(part)
		}
	}
	return out.String()
}

func (g *grid) writeRow(b *strings.Builder, row []string, widths []int) {
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
			pad := strings.Repeat(" ", widths[i]-width(text))
			if g.ruled {
				line.WriteString("| " + text + pad + " ")
			} else {
				line.WriteString(text + pad + columnGap)
			}
		}
		if g.ruled {
			b.WriteString(line.String() + "|\n")
		} else {
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
}

func (g *grid) widths() []int {
	widths := make([]int, len(g.rows[0]))
	for _, row := range g.rows {
		for i, cell := range row {
			for line := range strings.SplitSeq(cell, "\n") {
				widths[i] = max(widths[i], width(line))
			}
		}
	}
	return widths
}

// width is the number of characters of a text, colours not counted.
func width(text string) int {
	if strings.Contains(text, "\x1b[") {
		text = colours.ReplaceAllString(text, "")
	}
	return utf8.RuneCountInString(text)
}

var colours = regexp.MustCompile("\x1b\\[[^m]*m")

// colour is the escape sequence that begins a colour.
type colour string

const (
	red     colour = "\x1b[31m"
	green   colour = "\x1b[32m"
	yellow  colour = "\x1b[33m"
	magenta colour = "\x1b[35m"
	cyan    colour = "\x1b[36m"
	reset   colour = "\x1b[0m"
)
