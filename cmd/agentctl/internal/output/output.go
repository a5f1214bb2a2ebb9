// Package output writes what commands print: texts and tables for people, and data in the format of -o.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output/gotemplate"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// Streams are the outputs of a command.
type Streams struct{ Out, Err io.Writer }

// Printer writes the output of a command: tables and texts, or data in the format of -o.
type Printer struct {
	Streams
	Format string // of the output, see Formatted; "" is text
	// NamesKept: the output keeps the names of its fields, see Verbatim.
	NamesKept bool
	Wide      bool // text with more columns
	Now       func() time.Time
	Term      Terminal
	Environ   config.Environ
	ShortKey  func(key string) string // for -o name
}

// Formatted adds -o to a command; other are formats that only this command has. The former name
// of the flag, -f, is accepted unless the command uses -f for a file.
func (p *Printer) Formatted(cmd *cobra.Command, other ...string) *cobra.Command {
	known := append(other, "wide", "name", "json", "yaml", "jsonpath=", "go-template=")
	Flag(cmd, &p.Format, "", known, "`format`: "+strings.Join(known, ", ")+" (or just the template)")
	return cmd
}

// Flag adds -o for the format of the output.
func Flag(cmd *cobra.Command, format *string, byDefault string, known []string, usage string) {
	fs, former := cmd.Flags(), "f"
	if fs.ShorthandLookup(former) != nil {
		former = ""
	}
	fs.StringVarP(format, "output", "o", byDefault, usage)
	fs.StringVarP(format, "format", former, byDefault, usage)
	_ = fs.MarkHidden("format") // fails only for unknown flags
	for _, name := range []string{"output", "format"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
	}
}

// Proto is the text format of protocol buffers.
const Proto = "proto"

// AsProto reports whether the output is in the text format of protocol buffers.
func (p *Printer) AsProto() bool { return strings.EqualFold(p.Format, Proto) }

// Printf writes to the output.
func (p *Printer) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Out, format, args...)
	return err
}

// Print writes text to the output.
func (p *Printer) Print(text string) error {
	_, err := io.WriteString(p.Out, text)
	return err
}

// PrintText prints a response that is text.
func (p *Printer) PrintText(text string, err error) error {
	if err != nil {
		return err
	}
	return p.Print(text)
}

// Show writes data in the format of -o, or prints it as text without.
func Show[T any](p *Printer, data T, print func(T) error) error {
	if p.Format == "" {
		return print(data)
	}
	return p.Write(p.Format, data)
}

// ShowAnswer is Show for a response of the agent: templates use the decoded value, JSON and
// YAML contain all that the agent sent.
func ShowAnswer[T any](p *Printer, answer client.Answer[T], print func(T) error) error {
	switch {
	case p.Format == "":
		return print(answer.Value)
	case strings.Contains(p.Format, "{{"):
		return p.Write(p.Format, answer.Value)
	}
	return p.Write(p.Format, answer.Raw)
}

// Write writes data in the format of -o.
func (p *Printer) Write(format string, data any) error {
	kind, argument, _ := strings.Cut(format, "=")
	kind = strings.ToLower(kind)
	switch {
	case kind == "go-template":
		return p.writeTemplate(argument, data)
	case strings.Contains(format, "{{") && kind != "jsonpath":
		return p.writeTemplate(format, data)
	}
	text, err := p.encode(data)
	if err != nil {
		return err
	}
	switch kind {
	case "json":
		return WriteJSON(p.Out, text)
	case "yaml":
		return WriteYAML(p.Out, text)
	case "name":
		plain, err := plainJSON(text)
		if err != nil {
			return err
		}
		return p.Print(strings.Join(append(p.names(plain), ""), "\n"))
	case "jsonpath":
		text, err := jsonPath(argument, text)
		if err != nil {
			return exit.Usagef("--output: %w", err)
		}
		return p.Print(Lines(text))
	}
	return exit.Usagef("--output: %q: expected json, yaml, name, wide, jsonpath=PATH or a template with {{...}}", format)
}

// writeTemplate executes a template on data. Its fields have Go names, as in the predecessor, or
// JSON names, as in the other formats.
func (p *Printer) writeTemplate(text string, data any) error {
	t, err := gotemplate.Parse("format", text, p.templateFuncs())
	if err != nil {
		return exit.Usagef("--output: %w", err)
	}
	if raw, ok := data.(json.RawMessage); ok { // templates use the decoded value
		if data, err = plainJSON(raw); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if err = t.Execute(&out, data); err != nil {
		out.Reset()
		t.Strict = true
		plain, jsonErr := plainJSON(data)
		if jsonErr == nil {
			jsonErr = t.Execute(&out, plain)
		}
		if e, ok := errors.AsType[*gotemplate.Error](err); jsonErr == nil || ok && e.Field == lowerCamel(e.Field) {
			err = jsonErr // the template has JSON names
		}
	}
	if err != nil {
		return exit.Usagef("--output: %w", err)
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	_, err = out.WriteTo(p.Out)
	return err
}

func (p *Printer) templateFuncs() map[string]any {
	return map[string]any{
		"json":   func(v any) (string, error) { return Rendered(WriteJSON, v) },
		"yaml":   func(v any) (string, error) { return Rendered(WriteYAML, v) },
		"epoch":  func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() },
		"ago":    func(t time.Time) time.Duration { return p.Now().Sub(t).Round(time.Second) },
		"dur":    func(d time.Duration) string { return d.Round(time.Millisecond).String() },
		"prefix": func(prefix, s string) string { return prefix + strings.ReplaceAll(s, "\n", "\n"+prefix) },
	}
}

// Rendered returns what write writes, without the end of the last line.
func Rendered(write func(io.Writer, any) error, v any) (string, error) {
	var b bytes.Buffer
	err := write(&b, v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// WriteJSON writes data as indented JSON.
func WriteJSON(w io.Writer, data any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(data)
}

// WriteYAML writes data as YAML with the fields of its JSON, in the same
// order.
func WriteYAML(w io.Writer, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(body, &doc); err != nil { // JSON is YAML
		return err
	}
	plain(&doc)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return err
	}
	return e.Close()
}

// ParseYAML decodes a text in YAML or JSON.
func ParseYAML[T any](text []byte) (data T, err error) {
	err = yaml.Unmarshal(text, &data)
	return data, err
}

// plain removes the JSON style from a document.
func plain(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode && len(n.Content) > 0 {
		n.Style &^= yaml.FlowStyle
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = 0 // the encoder quotes where necessary
	}
	for _, child := range n.Content {
		plain(child)
	}
}

// PaintState colours the state of a value, a plugin or an agent.
func (p *Printer) PaintState(state string) string {
	switch state {
	case "CONFIGURED", "OK":
		return p.Paint(Green, state)
	case "PENDING", "RETRYING", "INIT", "DEGRADED", "MISSING", "UNIMPLEMENTED":
		return p.Paint(Yellow, state)
	case "FAILED", "INVALID", "ERROR":
		return p.Paint(Red, state)
	}
	return state
}
