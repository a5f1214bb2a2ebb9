package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/fleet/internal/span"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// maxErrors is the maximum number of reported errors.
const maxErrors = 100

// Decode reads the objects in a text: documents in YAML separated by "---", or one object in JSON. file
// is its name in errors; if it ends in ".json" the text must be JSON. Decode is strict, and checks all
// that can be checked without other files. Each error is a *document.Error; at most 100 are
// returned, and a last one that counts the others. Objects are valid only if there are none.
func Decode(file string, text []byte) (Objects, []error) {
	d := &decoder{first: map[string]document.Position{}}
	d.file(file, text)
	d.checkPools()
	return d.objects, bounded(d.errs)
}

// bounded limits the number of errors.
func bounded(errs []error) []error {
	if more := len(errs) - maxErrors; more > 0 {
		return append(errs[:maxErrors:maxErrors], fmt.Errorf("and %d more errors", more))
	}
	return errs
}

// decoder reads files. It collects errors instead of stopping at the first.
type decoder struct {
	objects Objects
	errs    []error
	first   map[string]document.Position // by kind and name
	sets    []*span.Set                  // of the pools; nil for an invalid one
}

// file reads one file.
func (d *decoder) file(file string, text []byte) {
	roots, errs := document.ParseTrees(file, text)
	for _, err := range errs {
		d.errs = append(d.errs, err)
	}
	if len(errs) > 0 {
		return
	}
	if len(roots) == 0 {
		d.errs = append(d.errs, &document.Error{Position: document.Position{File: file}, Msg: "no objects; expected objects of the kinds " + strings.Join(kinds(), ", ")})
	}
	for _, root := range roots {
		d.object(root)
	}
}

func kinds() []string { return []string{KindAgent, KindNetworkConfig, KindPool} }

func didYouMean(word string, known []string) string {
	if near := suggest.Nearest(word, known); near != "" && near != word {
		return "; did you mean " + near + "?"
	}
	return ""
}

func (d *decoder) fail(at document.Position, path, format string, args ...any) {
	d.errs = append(d.errs, &document.Error{Position: at, Field: path, Msg: fmt.Sprintf(format, args...)})
}

// check reports the error of a value.
func (d *decoder) check(t *document.Tree, path string, err error) {
	if err != nil {
		d.fail(t.Position, path, "%v", err)
	}
}

// object reads one object.
func (d *decoder) object(t *document.Tree) {
	if t.Kind != document.Mapping {
		d.fail(t.Position, "", "expected an object with apiVersion and kind, got %s", Describe(t.Value()))
		return
	}
	version, kind := t.Field("apiVersion"), t.Field("kind")
	switch {
	case version == nil:
		d.fail(t.Position, "apiVersion", "missing, expected %s", APIVersion)
		return
	case version.Kind != document.String || version.Text != APIVersion:
		d.fail(version.Position, "apiVersion", "expected %s, got %s", APIVersion, Describe(version.Value()))
		return
	case kind == nil:
		d.fail(t.Position, "kind", "missing, expected one of %s", strings.Join(kinds(), ", "))
		return
	}
	var metadata Metadata
	before := len(d.errs)
	read := func(spec func(t *document.Tree, path string)) {
		d.fields(t, "", field{"apiVersion", true, func(*document.Tree, string) {}}, field{"kind", true, func(*document.Tree, string) {}},
			field{"metadata", true, func(t *document.Tree, path string) { d.metadata(t, path, &metadata) }}, field{"spec", kind.Text != KindAgent, spec})
		metadata.Source = t.Position
		if metadata.Name != "" {
			d.once(t.Position, kind.Text, metadata.Name)
		}
	}
	switch kind.Text {
	case KindAgent:
		a := Agent{}
		read(func(t *document.Tree, path string) { d.agent(t, path, &a.Spec) })
		a.Metadata = metadata
		d.objects.Agents = append(d.objects.Agents, a)
	case KindNetworkConfig:
		c := NetworkConfig{}
		read(func(t *document.Tree, path string) { d.networkConfig(t, path, &c.Spec) })
		c.Metadata = metadata
		d.objects.NetworkConfigs = append(d.objects.NetworkConfigs, c)
	case KindPool:
		p := Pool{}
		var set *span.Set
		read(func(t *document.Tree, path string) { set = d.pool(t, path, &p.Spec) })
		if len(d.errs) > before {
			set = nil
		}
		p.Metadata = metadata
		d.objects.Pools, d.sets = append(d.objects.Pools, p), append(d.sets, set)
	default:
		d.fail(kind.Position, "kind", "%q: expected one of %s%s", kind.Text, strings.Join(kinds(), ", "), didYouMean(kind.Text, kinds()))
	}
}

// once reports a second object with a kind and a name.
func (d *decoder) once(at document.Position, kind, name string) {
	id := kind + " " + name
	if first, twice := d.first[id]; twice {
		d.fail(at, "", "second %s, the first is in %s", id, first)
		return
	}
	d.first[id] = at
}

// field is a field that a mapping may have.
type field struct {
	name     string
	required bool
	read     func(t *document.Tree, path string)
}

// fields reads a mapping. A field that is null is not there.
func (d *decoder) fields(t *document.Tree, path string, known ...field) {
	if t.Kind != document.Mapping {
		d.fail(t.Position, path, "expected an object, got %s", Describe(t.Value()))
		return
	}
	var names []string
	for _, f := range known {
		names = append(names, f.name)
	}
	for _, f := range t.Fields {
		i := slices.Index(names, f.Name)
		switch {
		case i < 0:
			d.fail(f.Position, join(path, f.Name), "unknown field, expected one of %s%s", strings.Join(names, ", "), didYouMean(f.Name, names))
		case f.Value.Kind != document.Null:
			known[i].read(f.Value, join(path, f.Name))
		}
	}
	for _, f := range known {
		if v := t.Field(f.name); f.required && (v == nil || v.Kind == document.Null) {
			d.fail(t.Position, join(path, f.name), "missing")
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// list reads a list.
func (d *decoder) list(t *document.Tree, path string, element func(t *document.Tree, path string)) {
	if t.Kind != document.List {
		d.fail(t.Position, path, "expected a list, got %s", Describe(t.Value()))
		return
	}
	for i, e := range t.Elements {
		element(e, fmt.Sprintf("%s[%d]", path, i))
	}
}

// text reads a string. Numbers and truth values are errors: 1.10 is not "1.10".
func (d *decoder) text(to *string) func(t *document.Tree, path string) {
	return func(t *document.Tree, path string) {
		if t.Kind != document.String {
			hint := ""
			if t.Kind != document.List && t.Kind != document.Mapping {
				hint = "; put it in quotes"
			}
			d.fail(t.Position, path, "expected a string, got %s%s", Describe(t.Value()), hint)
			return
		}
		*to = t.Text
	}
}

func (d *decoder) texts(to *[]string) func(t *document.Tree, path string) {
	return func(t *document.Tree, path string) {
		d.list(t, path, func(t *document.Tree, path string) {
			var text string
			d.text(&text)(t, path)
			*to = append(*to, text)
		})
	}
}

// oneOf reads a string that is one of the known ones.
func oneOf[T ~string](d *decoder, to *T, known []T) func(t *document.Tree, path string) {
	return func(t *document.Tree, path string) {
		var words []string
		for _, k := range known {
			words = append(words, string(k))
		}
		if t.Kind != document.String || !slices.Contains(words, t.Text) {
			d.fail(t.Position, path, "expected one of %s, got %s%s", strings.Join(words, ", "), Describe(t.Value()), didYouMean(t.Text, words))
			return
		}
		*to = T(t.Text)
	}
}

func (d *decoder) boolean(to *bool) func(t *document.Tree, path string) {
	return func(t *document.Tree, path string) {
		if t.Kind != document.Bool {
			d.fail(t.Position, path, "expected true or false, got %s", Describe(t.Value()))
			return
		}
		*to = t.Text == "true"
	}
}

func (d *decoder) number(to *int, low, high int64) func(t *document.Tree, path string) {
	return func(t *document.Tree, path string) {
		n, ok := t.Value().(int64)
		if !ok || n < low || n > high {
			d.fail(t.Position, path, "expected an integer from %d to %d, got %s", low, high, Describe(t.Value()))
			return
		}
		*to = int(n)
	}
}

func (d *decoder) metadata(t *document.Tree, path string, m *Metadata) {
	d.fields(t, path,
		field{"name", true, func(t *document.Tree, path string) {
			if d.text(&m.Name)(t, path); t.Kind == document.String {
				if d.check(t, path, checkName(m.Name)); checkName(m.Name) != nil {
					m.Name = ""
				}
			}
		}},
		field{"labels", false, func(t *document.Tree, path string) { m.Labels = d.labels(t, path) }})
}

// maxName is the maximum size of a name, in bytes.
const maxName = 253

func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("a name of %d bytes, expected at most %d", len(name), maxName)
	}
	return servicelabel.Check(name)
}

// labels reads a mapping of labels.
func (d *decoder) labels(t *document.Tree, path string) map[string]string {
	if t.Kind != document.Mapping {
		d.fail(t.Position, path, "expected an object, got %s", Describe(t.Value()))
		return nil
	}
	labels := map[string]string{}
	for _, f := range t.Fields {
		at := join(path, f.Name)
		if err := checkLabelKey(f.Name); err != nil {
			d.fail(f.Position, path, "%v", err)
			continue
		}
		var value string
		d.text(&value)(f.Value, at)
		d.check(f.Value, at, checkLabelValue(value))
		labels[f.Name] = value
	}
	return labels
}

func (d *decoder) agent(t *document.Tree, path string, a *AgentSpec) {
	d.fields(t, path,
		field{"values", false, func(t *document.Tree, path string) {
			if t.Kind != document.Mapping {
				d.fail(t.Position, path, "expected an object, got %s", Describe(t.Value()))
				return
			}
			a.Values, _ = valueOf(t).(map[string]any)
		}},
		field{"maintenance", false, d.boolean(&a.Maintenance)})
}
