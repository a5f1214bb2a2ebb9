package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// bindings is the module with the messages of VPP.
const bindings = "go.fd.io/govpp"

// message is a message of VPP.
type message struct {
	pkg    string // import path
	typ    string // in Go
	fields []field
}

// field is a field of a message.
type field struct {
	name string // in Go
	typ  string // in Go
	wire string // in VPP
}

// api is the name of the package in code.
func (m message) api() string { return path.Base(m.pkg) + "api" }

var (
	structs   = regexp.MustCompile(`(?ms)^type (\w+) struct \{\n(.*?)^\}`)
	fieldLine = regexp.MustCompile(`(?m)^\t(\w+) +(\S+) +` + "`" + `binapi:"[^"]*name=(\w+)`)
	addFlag   = regexp.MustCompile(`^(is_)?(add|enable)`)
)

// find returns a message by its name.
func find(ctx context.Context, root, name string) (message, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", bindings)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return message{}, fmt.Errorf("go list -m %s: %w", bindings, err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "binapi")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.ba.go"))
	if err != nil {
		return message{}, err
	}
	named := regexp.MustCompile(`func \(\*(\w+)\) GetMessageName\(\) string \{\s*return "` + regexp.QuoteMeta(name) + `"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return message{}, err
		}
		if m := named.FindSubmatch(text); m != nil {
			found := message{pkg: bindings + "/binapi/" + filepath.Base(filepath.Dir(file)), typ: string(m[1])}
			found.readFields(string(text))
			return found, nil
		}
	}
	return message{}, fmt.Errorf("%q is no message of VPP 25.10: expected a name such as npt66_binding_add_del", name)
}

// readFields reads the fields of the message from the file that declares it.
func (m *message) readFields(text string) {
	for _, s := range structs.FindAllStringSubmatch(text, -1) {
		if s[1] != m.typ {
			continue
		}
		for _, f := range fieldLine.FindAllStringSubmatch(s[2], -1) {
			m.fields = append(m.fields, field{name: f[1], typ: f[2], wire: f[3]})
		}
	}
}

// index returns the field with the interface; nil if there is none.
func (m message) index() *field {
	return m.field(func(f field) bool { return f.typ == "interface_types.InterfaceIndex" })
}

// add returns the field that says whether to add or remove; nil if there is none.
func (m message) add() *field {
	return m.field(func(f field) bool { return f.typ == "bool" && addFlag.MatchString(f.wire) })
}

func (m message) field(is func(field) bool) *field {
	for i := range m.fields {
		if is(m.fields[i]) {
			return &m.fields[i]
		}
	}
	return nil
}

// useMessages finds the messages with which VPP handles the item.
func (i *item) useMessages(ctx context.Context, request, dump string) error {
	if request == "" {
		if dump != "" {
			return fmt.Errorf("-dump %s: expected -request, too", dump)
		}
		return nil
	}
	m, err := find(ctx, i.root, request)
	if err != nil {
		return fmt.Errorf("-request: %w", err)
	}
	if m.index() == nil || m.add() == nil {
		return fmt.Errorf("-request %s: has no field for an interface, or none that begins with is_add or enable; "+
			"write the item without -request, and its requests by hand", request)
	}
	i.request = &m
	i.requestName = request
	if dump == "" {
		return nil
	}
	stem, ok := strings.CutSuffix(dump, "_dump")
	if !ok {
		return fmt.Errorf("-dump %s: expected a message that ends in _dump", dump)
	}
	d, err := find(ctx, i.root, dump)
	if err != nil {
		return fmt.Errorf("-dump: %w", err)
	}
	details, err := find(ctx, i.root, stem+"_details")
	switch {
	case err != nil:
		return fmt.Errorf("-dump: %w", err)
	case details.index() == nil:
		return fmt.Errorf("-dump %s: its records have no field for an interface; write the item without -dump, and its dump by hand", dump)
	case d.pkg != m.pkg:
		return fmt.Errorf("-dump %s: expected a message of %s, as the request", dump, m.pkg)
	}
	i.dump, i.details = &d, &details
	return nil
}
