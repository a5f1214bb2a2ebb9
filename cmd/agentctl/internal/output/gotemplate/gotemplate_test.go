package gotemplate_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"text/template"
	"time"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output/gotemplate"
)

// State prints as a name, through its value or a pointer to it.
type State int

func (s State) String() string { return [...]string{"IDLE", "BUSY"}[s] }

// Embedded is a part of Item.
type Embedded struct{ Owner string }

// Item has all kinds of fields.
type Item struct {
	Embedded
	*Optional
	Name     string
	MTU      int
	Index    uint32
	Small    int8
	Ratio    float64
	Up       bool
	State    State
	Tags     []string
	Bytes    []byte
	Pair     [2]int
	Labels   map[string]string
	ByID     map[int]string
	ByKind   map[State]*Item
	Any      any
	Parent   *Item
	Children []*Item
	Problem  error
	Since    time.Time
	Took     time.Duration
	//lint:ignore U1000 templates cannot see it
	unwritten int
}

// Optional is embedded by a pointer.
type Optional struct{ Note string }

var (
	began  = time.Date(2024, 3, 5, 6, 7, 8, 9000000, time.UTC)
	parent = &Item{Name: "parent", MTU: 9, Took: 3}
	item   = Item{
		Embedded: Embedded{"me"}, Optional: &Optional{"<a & b>"}, Name: "loop1", MTU: 15, Index: 7, Small: -3, Ratio: 1.5, Up: true, State: 1, Tags: []string{"x", "", "z"}, Bytes: []byte("ab"),
		Pair: [2]int{3, 4}, Labels: map[string]string{"b": "2", "a": "1"}, ByID: map[int]string{2: "two", -1: "minus", 10: "ten"},
		ByKind: map[State]*Item{1: parent, 0: nil}, Any: map[string]any{"k": []any{1, "s", nil, 2.5}}, Parent: parent,
		Children: []*Item{parent, nil, {Name: "child", State: 1}}, Problem: errors.New("broken"), Since: began, Took: 15,
	}
	data = []any{
		item, &item, Item{}, nil, []Item{item, {Name: "second"}}, []any{1, "a", nil, true, 2.5},
		map[string]any{"Name": "map", "MTU": 15.0, "Tags": []any{"x", 1.0}, "Labels": map[string]any{"a": nil}, "Parent": nil, "Up": true, "Any": item},
		map[string]int{"Name": 3, "MTU": 1}, "text", 5, (*Item)(nil), began,
	}
	functions = map[string]any{
		"twice": func(s string) string { return s + s },
		"wide":  func(n int64, unit ...string) string { return fmt.Sprint(n, unit) },
		"since": func(t time.Time) time.Duration { return t.Sub(began) },
		"show":  func(v any) (string, error) { return fmt.Sprintf("%T", v), nil },
		"limit": func(n float64) (float64, error) {
			if n > 2 {
				return 0, errors.New("too much")
			}
			return n, nil
		},
	}
)

// executed returns what both packages write.
func executed(text string, data any, strict bool) (want, got string, wantErr, gotErr error) {
	var out strings.Builder
	option := "missingkey=invalid"
	if strict {
		option = "missingkey=error"
	}
	theirs, wantErr := template.New("t").Option(option).Funcs(functions).Parse(text)
	if wantErr == nil {
		wantErr = theirs.Execute(&out, data)
	}
	want = out.String()
	out.Reset()
	ours, gotErr := gotemplate.Parse("t", text, functions)
	if gotErr == nil {
		ours.Strict = strict
		gotErr = ours.Execute(&out, data)
	}
	return want, out.String(), wantErr, gotErr
}

// differs returns how the results differ: text/template decides what is written and what is an error.
func differs(text string, data any, strict bool) string {
	want, got, wantErr, gotErr := executed(text, data, strict)
	if (wantErr == nil) != (gotErr == nil) || wantErr == nil && got != want {
		return fmt.Sprintf("%s\nof %T (strict: %v): %q, %v\nexpected %q, %v", text, data, strict, got, gotErr, want, wantErr)
	}
	return ""
}

var templates = []string{
	"", "text", "{{.}}", "{{ . }}{{/* comment */}}.", "a  {{- 1 -}}  b {{- /* c */ -}} d", "{{`raw`}}{{\"q\\n\"}}{{'x'}}",
	"{{.Name}}", "{{.Missing}}", "{{.name}}", "{{.Missing.Deep}}", "{{.Parent.Name}} {{.Parent.Parent.Name}}", "{{.Owner}} {{.Embedded.Owner}}", "{{.Note}}", "{{.unwritten}}",
	"{{.State}} {{.Took}} {{.Since}} {{.Problem}}", "{{printf `%v %d` .State .State}}", "{{.State.String}} {{.Problem.Error}}", "{{.Took.Seconds}}", "{{.Since.Unix}} {{.Since.Format `15:04`}}",
	"{{(.Since.Add .Took).Sub .Since}}", "{{.Since.IsZero}}", "{{.Took | .Since.Add}}", "{{since (.Since.Add .Took)}}",
	"{{.Pair}} {{.Tags}} {{.Labels}} {{.Bytes}} {{.Any}}", "{{range .Tags}}<{{.}}>{{else}}none{{end}}", "{{range .}}{{.Name}};{{end}}", "{{range .}}{{.}};{{end}}",
	"{{range $i, $t := .Tags}}{{$i}}={{$t}} {{$.Name}};{{end}}", "{{range $t := .Tags}}{{$t}}{{end}}", "{{range $k, $v := .Labels}}{{$k}}{{$v}}{{end}}", "{{range .ByID}}{{.}}{{end}}",
	"{{range $k, $v := .ByKind}}{{$k}} {{with $v}}{{.Name}}{{else}}nil{{end}} {{end}}", "{{range .Children}}{{if .}}{{.Name}}{{else}}-{{end}}{{end}}",
	"{{range 3}}{{.}}{{end}}", "{{range $i := 3}}{{$i}}{{end}}", "{{range $i, $j := 3}}{{$i}}{{end}}", "{{range .MTU}}{{break}}{{end}}", "{{range .Name}}{{.}}{{end}}", "{{range .Up}}{{end}}", "{{range .Parent}}{{end}}", "{{range 0}}a{{else}}b{{end}}",
	"{{range .Tags}}{{if eq . `x`}}{{continue}}{{end}}[{{.}}]{{end}}", "{{range .Tags}}{{if eq . ``}}{{break}}{{end}}[{{.}}]{{end}}", "{{range .Tags}}{{range $.Tags}}{{break}}{{end}}{{.}}{{end}}", "{{break}}",
	"{{$x := 1}}{{range .Tags}}{{$x = .}}{{end}}{{$x}}", "{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}", "{{$i := 0}}{{$t := 0}}{{range $i, $t = .Tags}}{{end}}{{$i}}{{$t}}", "{{$t := 0}}{{range $t = .Tags}}{{end}}{{$t}}", "{{$x}}",
	"{{if .Up}}up{{else if .Name}}named{{else}}neither{{end}}", "{{if not .Up}}down{{end}}", "{{with .Parent}}{{.Name}}{{else with .Name}}{{.}}{{else}}-{{end}}", "{{with $p := .Parent}}{{$p.MTU}}{{end}}", "{{if .Since}}{{else}}z{{end}}",
	"{{and .Up .Name}} {{or .Missing 7}} {{and}}", "{{or .Up (index .Tags 99)}}", "{{and .Up (index .Tags 99)}}", "{{.Name | and true}}{{.Name | or 0}}", "{{not 0}} {{not ``}} {{not nil}} {{not .Tags}}",
	"{{len .Tags}} {{len .Name}} {{len .Labels}} {{len .Pair}}", "{{len .}}", "{{len 3}}", "{{len nil}}", "{{len .Parent}}",
	"{{index .Tags 1}}{{index .Labels `a`}}{{index .Labels `c`}}{{index .ByID 2}}{{index .Pair .State}}", "{{index .Any `k` 1}}", "{{(index .Any `k`)}}", "{{index .Tags 9}}", "{{index .Tags -1}}", "{{index .Tags `a`}}", "{{index .Labels 1}}", "{{index .Name 0}}", "{{index .ByKind 1}}", "{{index . 0}}", "{{index . `Name`}}", "{{index nil 1}}", "{{index .Tags nil}}", "{{(index .Children 2).Name}}", "{{index .ByKind `a`}}",
	"{{slice .Name 1}} {{slice .Name 1 3}} {{slice .Tags 0 2}} {{slice .Tags 1 2 3}} {{slice .Name}}", "{{slice .Name 1 2 3}}", "{{slice .Name 4 2}}", "{{slice .Name 99}}", "{{slice 5 1}}", "{{slice .Tags 0 1 2 3}}", "{{slice .Tags 0 2 1}}", "{{slice nil}}", "{{slice .Bytes 1}}",
	"{{eq .Name `loop1`}} {{eq .MTU 15}} {{eq .Index 7}} {{eq .Small -3}} {{eq .Index .MTU}} {{eq .Ratio 1.5}} {{eq .Up true}} {{eq .MTU 1 2 15}}", "{{eq .MTU 1.5}}", "{{eq .Name 1}}", "{{eq .Name}}", "{{eq}}", "{{eq .Parent nil}} {{eq nil .Parent}} {{ne .Missing nil}}", "{{eq .Tags .Tags}}", "{{eq .Labels nil}}", "{{eq .State 1}}", "{{eq .Pair .Pair}}", "{{eq .Since .Since}}", "{{eq .Parent .Parent}}", "{{eq nil nil}}", "{{eq 1 nil}}", "{{eq . .}}", "{{ne 1 2}} {{ne `a` `a`}}", "{{ne 1 2 3}}", "{{eq 1i 1i}}",
	"{{lt 1 2}} {{le 2 2}} {{gt .MTU 1}} {{ge .Index 7}} {{lt .Small .Index}} {{gt .Index .Small}} {{lt `a` `b`}} {{lt 1.5 2.5}} {{ge 1 2}}", "{{lt true false}}", "{{lt 1 `a`}}", "{{lt nil 1}}", "{{lt .Tags .Tags}}", "{{lt 1 1.5}}", "{{gt .Index -1}}", "{{lt -1 .Index}}",
	"{{print 1 2 `a` `b` nil}}", "{{println .Name .MTU}}", "{{printf `%s-%05d %v %q %T` .Name .MTU .Tags .Name .Any}}", "{{printf `%d` .Name}}", "{{printf}}", "{{printf 1}}", "{{.Name | printf `%s:%s` `a`}}", "{{.MTU | printf `%d`}}", "{{print .Missing}}", "{{print}}",
	"{{html .Note}} {{html `<a href='x'>\"` 1}} {{urlquery `a b&c` 1}}", "{{html nil}}", "{{html .Missing}}", "{{html}}", "{{`<` | html | printf `%s!`}}",
	"{{twice .Name}}", "{{.Name | twice | twice}}", "{{twice 1}}", "{{twice .Missing}}", "{{twice}}", "{{twice `a` `b`}}", "{{twice nil}}", "{{show .}} {{show nil}} {{show 1}} {{show 1.0}} {{show 'a'}} {{show 0x1F}} {{show 1e3}} {{show 1i}} {{show `s`}} {{show true}}", "{{wide 5}} {{wide 5 `m` `n`}}", "{{wide 5.5}}", "{{wide 99999999999}}", "{{limit 1}} {{limit 1.5}} {{limit .Ratio}}", "{{limit 3}}", "{{since .Since}}", "{{since .Name}}", "{{99999999999999999999}}", "{{18446744073709551615}}", "{{1_000}} {{0b11}} {{0o17}} {{-5}} {{+5}}",
	"{{define `d`}}<{{.}}>{{end}}{{template `d` .Name}}{{template `d`}}", "{{block `b` .Tags}}{{range .}}{{.}}{{end}}{{end}}", "{{template `missing`}}", "{{define `r`}}{{if .}}{{len .}}{{template `r` slice . 1}}{{end}}{{end}}{{template `r` .Name}}", "{{define `x`}}{{$}}{{end}}{{$y := 1}}{{template `x` 5}}", "{{define `only`}}a{{end}}",
	"{{.Name.Deep}}", "{{.Name 1}}", "{{1 2}}", "{{`a` | 1}}", "{{nil}}", "{{nil | print}}", "{{(.Parent).Name}} {{(print 1 2).X}}", "{{(1)}}", "{{(.Name) 1}}", "{{$.Name}} {{$}}", "{{$ 1}}", "{{.Tags.Len}}", "{{true}} {{false}}", "{{print (print 1) (print `a`)}}", "{{unknown}}", "{{if}}", "{{end}}", "{{.Name", "{{.Parent.Missing}}", "{{range .Missing}}a{{else}}b{{end}}", "{{.Any.k}} {{range .Any.k}}[{{.}}]{{end}}", "{{.Any.Name}}",
}

// Templates have the results of text/template.
func TestAsTextTemplate(t *testing.T) {
	t.Parallel()
	for _, text := range templates {
		for _, data := range data {
			for _, strict := range []bool{false, true} {
				if diff := differs(text, data, strict); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
}

var (
	fields    = []string{".", "$", ".Name", ".MTU", ".Index", ".Ratio", ".Up", ".State", ".Tags", ".Pair", ".Labels", ".ByID", ".Any", ".Parent", ".Parent.Name", ".Children", ".Missing", ".Note", ".Took", ".Since", "$.Parent.Tags", "$x"}
	constants = []string{"1", "-1", "0", "2.5", "`a`", "``", "true", "nil", "`Name`", "'a'"}
	calls     = []string{"len", "index", "slice", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "print", "html", "urlquery", "printf `%v`", "twice", "show"}
)

// operand draws a value.
func operand(t *rapid.T, depth int) string {
	switch rapid.IntRange(0, 4+depth).Draw(t, "operand") {
	case 0, 1, 2:
		return rapid.SampledFrom(fields).Draw(t, "field")
	case 3, 4:
		return rapid.SampledFrom(constants).Draw(t, "constant")
	}
	return "(" + pipeline(t, depth-1) + ")"
}

// pipeline draws commands.
func pipeline(t *rapid.T, depth int) string {
	var commands []string
	for range rapid.IntRange(1, 2).Draw(t, "commands") {
		if rapid.Bool().Draw(t, "plain") && len(commands) == 0 {
			commands = append(commands, operand(t, depth))
			continue
		}
		words := []string{rapid.SampledFrom(calls).Draw(t, "call")}
		for range rapid.IntRange(0, 3).Draw(t, "arguments") {
			words = append(words, operand(t, depth))
		}
		commands = append(commands, strings.Join(words, " "))
	}
	return strings.Join(commands, " | ")
}

// body draws actions.
func body(t *rapid.T, depth int, inRange bool) string {
	var b strings.Builder
	for range rapid.IntRange(1, 2).Draw(t, "actions") {
		kind := rapid.IntRange(0, 8).Draw(t, "action")
		switch value := pipeline(t, 1); {
		case kind == 8 && inRange:
			b.WriteString(rapid.SampledFrom([]string{"{{break}}", "{{continue}}"}).Draw(t, "jump"))
		case depth == 0, kind < 3:
			fmt.Fprintf(&b, "[{{%s}}]", value)
		case kind == 3:
			fmt.Fprintf(&b, "{{$x = %s}}", value)
		case kind == 4:
			fmt.Fprintf(&b, "{{template `d` %s}}", value)
		default:
			action := rapid.SampledFrom([]string{"if", "with", "with $x :=", "range", "range $i, $x :=", "range $x ="}).Draw(t, "block")
			inner := body(t, depth-1, inRange || strings.HasPrefix(action, "range"))
			fmt.Fprintf(&b, "{{%s %s}}%s{{else}}%s{{end}}", action, value, inner, body(t, depth-1, inRange))
		}
	}
	return b.String()
}

// Random templates, too, have the results of text/template.
func TestRandomAsTextTemplate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := "{{define `d`}}<{{.}}>{{end}}{{$x := 3}}" + body(t, 3, false)
		diff := differs(text, rapid.SampledFrom(data).Draw(t, "data"), rapid.Bool().Draw(t, "strict"))
		if diff != "" {
			t.Error(diff)
		}
	})
}

// Errors say where, and which field the data does not have.
func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n{{range .Tags}}{{$.Nam}}{{end}}": `template: t:2:18: executing "t" at <$.Nam>: can't evaluate field Nam in type gotemplate_test.Item, did you mean Name?; methods are not called`,
		"{{.Parent.Parent.Name}}":            `template: t:1:9: executing "t" at <.Parent.Parent.Name>: can't evaluate field Name of nil`,
		"{{.Labels.c}}":                      `template: t:1:9: executing "t" at <.Labels.c>: map has no entry for key "c"`,
		"{{.Since.Weekday}}":                 `template: t:1:8: executing "t" at <.Since.Weekday>: can't evaluate field Weekday in type time.Time; methods are not called`,
		"{{twice 1}}":                        `template: t:1:2: executing "t" at <twice>: argument 1 of twice is 1 (int), expected string`,
		"{{twice}}":                          `template: t:1:2: executing "t" at <twice>: wrong number of arguments for twice: 0, expected 1`,
		"{{limit 3}}":                        `template: t:1:2: executing "t" at <limit>: error calling limit: too much`,
		"{{index .Tags 5}}":                  `template: t:1:2: executing "t" at <index>: error calling index: index out of range: 5`,
		"{{lt .Tags 1}}":                     `template: t:1:2: executing "t" at <lt>: error calling lt: can't compare a value of type []string with 1 (int)`,
		"{{define `r`}}{{template `r`}}{{end}}\n{{template `r`}}": `template: t:1:25: executing "r" at <{{template "r"}}>: more than 1000 templates execute each other`,
		"{{js .Name}}":                 `template: t:1: function "js" not defined`,
		"{{range .}}{{end}}":           `template: t:1:8: executing "t" at <.>: range can't iterate over a value of type gotemplate_test.Item`,
		"{{range $i, $x := 3}}{{end}}": `template: t:1:8: executing "t" at <$i, $x := 3>: range over an integer has one variable`,
	} {
		tmpl, err := gotemplate.Parse("t", text, functions)
		if err == nil {
			tmpl.Strict = true
			err = tmpl.Execute(io.Discard, item)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got\n%v\nexpected\n%s", text, err, want)
		}
	}
	tmpl, _ := gotemplate.Parse("t", "{{.Nam}}", nil)
	if e, ok := errors.AsType[*gotemplate.Error](tmpl.Execute(io.Discard, item)); !ok || e.Field != "Nam" {
		t.Errorf("error %v: expected the field Nam", e)
	}
}
