package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxReferenced limits a file that a value refers to, in bytes.
const maxReferenced = 64 << 10

// A value of a configuration file may refer to the environment or to a file, so
// that secrets need not be written in it: ${env:NAME} is the value of an
// environment variable, ${file:PATH} is the content of a file without trailing line
// breaks, relative to the directory of the configuration file. Both may be parts of
// a value, and references in their content are not expanded. $${ is a literal ${.
// An unset variable, an unreadable file and any other ${ are errors.

// references expands the references in values.
type references struct {
	environ Environ
	dir     string   // of the configuration file
	files   []string // that were read
	// plain reports that the configuration file itself holds a secret.
	plain bool
}

// expand returns a scalar with its references expanded, or an error for the
// user.
func (r *references) expand(n *yaml.Node) (*yaml.Node, error) {
	if !strings.Contains(n.Value, "${") {
		return n, nil
	}
	text, err := r.text(n.Value)
	if err != nil {
		return nil, err
	}
	expanded := *n
	expanded.Value = text
	// The result may be a number, although YAML requires quotes because of the {.
	expanded.Style, expanded.Tag = 0, ""
	expanded.Tag = expanded.ShortTag()
	return &expanded, nil
}

func (r *references) text(value string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(value, "${")
		if !found {
			b.WriteString(value)
			return b.String(), nil
		}
		if plain, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(plain + "${")
			value = after
			continue
		}
		reference, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New("${ without }; expected ${env:NAME} or ${file:PATH}, or $${ for a literal ${")
		}
		text, err := r.resolve(reference)
		if err != nil {
			return "", err
		}
		b.WriteString(before + text)
		value = rest
	}
}

func (r *references) resolve(reference string) (string, error) {
	kind, name, _ := strings.Cut(reference, ":")
	switch {
	case kind == "env" && name != "":
		value, set := r.environ(name)
		if !set {
			return "", fmt.Errorf("${%s}: the environment variable is not set", reference)
		}
		return value, nil
	case kind == "file" && name != "":
		return r.file(name)
	}
	return "", fmt.Errorf("${%s}: expected ${env:NAME} or ${file:PATH}, or $${ for a literal ${", reference)
}

func (r *references) file(name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: expected a regular file", name)
	}
	if err == nil && info.Size() > maxReferenced {
		err = fmt.Errorf("%s: %d bytes, expected at most %d", name, info.Size(), maxReferenced)
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	r.files = append(r.files, name)
	return strings.TrimRight(string(text), "\r\n"), nil
}

// note records secrets in the value of a secret field.
func (r *references) note(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value != "" && n.Tag != "!!null" && !strings.Contains(strings.ReplaceAll(n.Value, "$${", ""), "${") {
		r.plain = true
	}
	for _, c := range n.Content {
		r.note(c)
	}
}

// expandAll is expand for values of any kind.
func (d *decoder) expandAll(n *yaml.Node, path string) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		expanded, err := d.refs.expand(n)
		if err != nil {
			d.fail(n, path, "%v", err)
			return n
		}
		return expanded
	}
	all := *n
	all.Content = nil
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 { // keys are not expanded
			c = d.expandAll(c, path)
		}
		all.Content = append(all.Content, c)
	}
	return &all
}

// escaped returns text in which ${ is escaped.
func escaped(v reflect.Value) string { return strings.ReplaceAll(v.String(), "${", "$${") }

// openFiles returns the files with secrets that every user of this machine can read:
// the configuration file, if there are secrets in it, and the files it refers to.
func (r *references) openFiles(file string) []string {
	files := r.files
	if r.plain {
		files = append([]string{file}, files...)
	}
	var open []string
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().Perm()&0o004 != 0 {
			open = append(open, f)
		}
	}
	return open
}
