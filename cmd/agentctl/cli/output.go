package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

// formatted adds -o to a command; other are the formats besides those of all commands. The
// former name of the flag, -f, is accepted unless it is that of a file.
func (a *app) formatted(cmd *cobra.Command, other ...string) *cobra.Command {
	known := append(other, "wide", "name", "json", "yaml", "jsonpath=", "go-template=")
	outputFlag(cmd, &a.format, "", known, "`format`: "+strings.Join(known, ", ")+" (or just the template)")
	return cmd
}

// outputFlag adds -o for the format of the output.
func outputFlag(cmd *cobra.Command, format *string, byDefault string, known []string, usage string) {
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

func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format, args...)
	return err
}

func (a *app) print(text string) error {
	_, err := io.WriteString(a.Out, text)
	return err
}

// printText prints a response that is text.
func (a *app) printText(text string, err error) error {
	if err != nil {
		return err
	}
	return a.print(text)
}

// show writes data in the format of -o, or prints it as text without.
func show[T any](a *app, data T, print func(T) error) error {
	if a.format == "" {
		return print(data)
	}
	return a.write(a.format, data)
}

// showAnswer is show for a response of the agent: templates use the decoded value, JSON and
// YAML contain all that the agent sent.
func showAnswer[T any](a *app, answer client.Answer[T], print func(T) error) error {
	switch {
	case a.format == "":
		return print(answer.Value)
	case strings.Contains(a.format, "{{"):
		return a.write(a.format, answer.Value)
	}
	return a.write(a.format, answer.Raw)
}

// write writes data in the format of -o.
func (a *app) write(format string, data any) error {
	kind, argument, _ := strings.Cut(format, "=")
	kind = strings.ToLower(kind)
	switch {
	case kind == "go-template":
		return a.writeTemplate(argument, data)
	case strings.Contains(format, "{{") && kind != "jsonpath":
		return a.writeTemplate(format, data)
	}
	text, err := a.encode(data)
	if err != nil {
		return err
	}
	switch kind {
	case "json":
		return writeJSON(a.Out, text)
	case "yaml":
		return writeYAML(a.Out, text)
	case "name":
		plain, err := plainJSON(text)
		if err != nil {
			return err
		}
		return a.print(strings.Join(append(a.names(plain), ""), "\n"))
	case "jsonpath":
		text, err := jsonPath(argument, text)
		if err != nil {
			return usage("--output: %w", err)
		}
		return a.print(lines(text))
	}
	return usage("--output: %q: expected json, yaml, name, wide, jsonpath=PATH or a template with {{...}}", format)
}

// writeTemplate executes a template on data, whose fields have the names of Go, as those of the
// predecessor, or the names of JSON, as the other formats show them.
func (a *app) writeTemplate(text string, data any) error {
	t, err := template.New("format").Funcs(a.templateFuncs()).Parse(text)
	if err != nil {
		return usage("--output: %w", err)
	}
	if raw, ok := data.(json.RawMessage); ok { // templates use the decoded value
		if data, err = plainJSON(raw); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		out.Reset()
		plain, jerr := plainJSON(data)
		if jerr != nil || t.Option("missingkey=error").Execute(&out, plain) != nil {
			return usage("--output: %w", err)
		}
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	_, err = out.WriteTo(a.Out)
	return err
}

func (a *app) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"json":   func(v any) (string, error) { return rendered(writeJSON, v) },
		"yaml":   func(v any) (string, error) { return rendered(writeYAML, v) },
		"epoch":  func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() },
		"ago":    func(t time.Time) time.Duration { return a.now().Sub(t).Round(time.Second) },
		"dur":    func(d time.Duration) string { return d.Round(time.Millisecond).String() },
		"prefix": func(prefix, s string) string { return prefix + strings.ReplaceAll(s, "\n", "\n"+prefix) },
	}
}

func rendered(write func(io.Writer, any) error, v any) (string, error) {
	var b bytes.Buffer
	err := write(&b, v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func writeJSON(w io.Writer, data any) error {
	body, err := json.MarshalIndent(data, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", body)
	}
	return err
}

// writeYAML writes data as YAML with the fields of its JSON, in the same
// order.
func writeYAML(w io.Writer, data any) error {
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

// paintState colours the state of a value, a plugin or an agent.
func (a *app) paintState(state string) string {
	switch state {
	case "CONFIGURED", "OK":
		return a.paint(green, state)
	case "PENDING", "RETRYING", "INIT", "DEGRADED", "MISSING", "UNIMPLEMENTED":
		return a.paint(yellow, state)
	case "FAILED", "INVALID", "ERROR":
		return a.paint(red, state)
	}
	return state
}
