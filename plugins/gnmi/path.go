package gnmi

import (
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

const (
	// origin is the origin of all paths; an empty one means the same.
	origin = "tenuto"

	anyElem = "*"   // any element, or any value of a key
	anyTail = "..." // any number of elements
)

// selection is what a path selects: items of trees, or one field of them.
type selection struct {
	trees  []*tree
	models []*model
	keys   map[string]string // the values of keys, by name; keys that are missing may have any
	key    string            // of the item, if all its keys are given
	fields []fieldPath       // one for each message that nodes may be; none: whole items

	depth    int  // number of elements: of the tree, of the model, and of fields
	wildcard bool // an element or a key is one
	named    bool // it names its tree
}

// model returns the model if there is only one.
func (sel *selection) model() *model {
	if len(sel.models) == 1 && sel.depth > 1 {
		return sel.models[0]
	}
	return nil
}

// fieldPath is a field of a message, or of a message in it.
type fieldPath struct {
	of   protoreflect.MessageDescriptor
	path []protoreflect.FieldDescriptor
}

// add adds the name of a field.
func (p *fieldPath) add(i int, name string) *pathError {
	within := p.of
	if len(p.path) > 0 {
		last := p.path[len(p.path)-1]
		if last.IsList() || last.IsMap() || last.Message() == nil {
			return wrong(i, "%s: %s is a %s, which has no elements: it is read and written as a whole", name, last.JSONName(), kindText(last))
		}
		within = last.Message()
	}
	f, err := fieldOf(within, i, name)
	if err == nil {
		p.path = append(p.path, f)
	}
	return err
}

// path returns the fields of the path; none if it selects whole items. Of several messages it is
// the path in the first one, and the others have fields of the same names.
func (sel *selection) path() []protoreflect.FieldDescriptor {
	if len(sel.fields) == 0 {
		return nil
	}
	return sel.fields[0].path
}

// pathIn returns the fields of the path in the nodes that a tree has of a model.
func (sel *selection) pathIn(t *tree, m *model) []protoreflect.FieldDescriptor {
	if len(sel.fields) < 2 {
		return sel.path()
	}
	for _, p := range sel.fields {
		if p.of == t.fields(m) {
			return p.path
		}
	}
	return nil
}

// field returns the field of the path; nil if it selects whole items.
func (sel *selection) field() protoreflect.FieldDescriptor {
	path := sel.path()
	if len(path) == 0 {
		return nil
	}
	return path[len(path)-1]
}

// has reports whether an item of a model is selected.
func (sel *selection) has(m *model, key string, item protoreflect.Message) bool {
	if sel.key != "" {
		return key == sel.key
	}
	for name, text := range sel.keys {
		if f, _ := m.keyField(name); f == nil && m.Label(key) != text || f != nil && keyText(f, item.Get(f)) != text {
			return false
		}
	}
	return slices.Contains(sel.models, m)
}

// pathError is the error of an element of a path; elem is -1 for the path as a whole.
type pathError struct {
	elem int
	text string
}

func wrong(elem int, format string, args ...any) *pathError {
	return &pathError{elem, fmt.Sprintf(format, args...)}
}

// violation returns the error by the field of the request.
func (e *pathError) violation(prefix *gpb.Path, field string) apierr.Violation {
	if n := len(prefix.GetElem()); e.elem >= n {
		field = fmt.Sprintf("%s.elem[%d]", field, e.elem-n)
	} else if e.elem >= 0 {
		field = fmt.Sprintf("prefix.elem[%d]", e.elem)
	}
	return apierr.Violation{Field: field, Text: e.text}
}

// checkPrefix rejects a prefix with another target or origin.
func (s *service) checkPrefix(prefix *gpb.Path) error {
	label := ""
	if s.Label != nil {
		label = s.Label.GetAgentLabel()
	}
	if t := prefix.GetTarget(); t != "" && t != label {
		return status.Errorf(codes.NotFound, "prefix.target: %q is not this agent: expected %q or no target", t, label)
	}
	if text := checkOrigin(prefix); text != "" {
		return apierr.Violations{{Field: "prefix", Text: text}}.QueryStatus()
	}
	return nil
}

// checkOrigin returns what is wrong with a path besides its elements. Some clients send both
// forms of elements.
func checkOrigin(p *gpb.Path) string {
	if o := p.GetOrigin(); o != "" && o != origin {
		return fmt.Sprintf("origin %q: expected %q or no origin", o, origin)
	}
	m := p.ProtoReflect()
	if len(p.GetElem()) == 0 && m.IsValid() && m.Has(m.Descriptor().Fields().ByName("element")) {
		return "element: this form of paths is obsolete: expected elem"
	}
	return ""
}

// parse reads a path below a prefix. only are the models that it may name; nil: all.
func (s *service) parse(prefix, path *gpb.Path, only []*model) (*selection, *pathError) {
	if text := checkOrigin(path); text != "" {
		return nil, wrong(-1, "%s", text)
	}
	if t := path.GetTarget(); t != "" && t != prefix.GetTarget() {
		return nil, wrong(-1, "target %q: expected it in the prefix", t)
	}
	elems := slices.Concat(prefix.GetElem(), path.GetElem())
	if only == nil {
		only = s.models
	}
	sel := &selection{trees: s.trees, models: only}
	for i, e := range elems {
		if e.GetName() == anyTail {
			if i < len(elems)-1 {
				return nil, wrong(i, "%s is supported at the end of a path only", anyTail)
			}
			sel.wildcard = true
			break
		}
		if err := s.elem(sel, i, e); err != nil {
			return nil, err
		}
		sel.depth++
	}
	return sel, nil
}

// elem reads an element of a path.
func (s *service) elem(sel *selection, i int, e *gpb.PathElem) *pathError {
	if e.GetName() == "" {
		return wrong(i, "the element has no name")
	}
	if sel.depth != 1 && len(e.GetKey()) > 0 {
		return wrong(i, "%s: keys belong to the element of a model", e.GetName())
	}
	switch sel.depth {
	case 0:
		return s.treeElem(sel, i, e)
	case 1:
		return s.modelElem(sel, i, e)
	}
	return fieldElem(sel, i, e.GetName())
}

func (s *service) treeElem(sel *selection, i int, e *gpb.PathElem) *pathError {
	if e.GetName() == anyElem {
		sel.wildcard = true
		return nil
	}
	var names []string
	for _, t := range s.trees {
		if t.name == e.GetName() {
			sel.trees, sel.named = []*tree{t}, true
			return nil
		}
		names = append(names, t.name)
	}
	return wrong(i, "%q: unknown tree, expected one of %s%s", e.GetName(), strings.Join(names, ", "), didYouMean(e.GetName(), names))
}

func (s *service) modelElem(sel *selection, i int, e *gpb.PathElem) *pathError {
	if e.GetName() == anyElem {
		sel.wildcard = true
		if len(e.GetKey()) > 0 {
			return wrong(i, "keys need the name of a model instead of %s", anyElem)
		}
		return nil
	}
	for _, m := range sel.models {
		if m.name == e.GetName() && sel.mayHave(m) {
			sel.models = []*model{m}
			return sel.setKeys(m, i, e.GetKey())
		}
	}
	var names []string
	for _, m := range sel.models {
		if sel.mayHave(m) {
			names = append(names, m.name)
		}
	}
	where := "the agent"
	if len(sel.trees) == 1 {
		where = "/" + sel.trees[0].name
	}
	return wrong(i, "%s has no model %q%s", where, e.GetName(), didYouMean(e.GetName(), names))
}

// mayHave reports whether one of the trees has nodes of a model.
func (sel *selection) mayHave(m *model) bool {
	return slices.ContainsFunc(sel.trees, func(t *tree) bool { return t.fields(m) != nil })
}

// setKeys reads the keys of an item, and makes the scheduler's key of it if all are given.
func (sel *selection) setKeys(m *model, i int, keys map[string]string) *pathError {
	item := m.NewInstance()
	sel.keys = map[string]string{}
	label := ""
	for name, text := range keys {
		f, ok := m.keyField(name)
		switch {
		case !ok && m.Singleton():
			return wrong(i, "%s has no keys: there is one item", m.name)
		case !ok:
			return wrong(i, "unknown key %q of %s, expected %s%s", name, m.name, strings.Join(m.keyNames(), ", "), didYouMean(name, m.keyNames()))
		case text == anyElem:
			sel.wildcard = true
		case f == nil:
			sel.keys[name], label = text, text
		default:
			v, err := parseKey(f, text)
			if err != nil {
				return wrong(i, "key %s: %v", name, err)
			}
			if _, twice := sel.keys[f.JSONName()]; twice {
				return wrong(i, "key %s is given twice, as %s and %s", name, f.JSONName(), f.Name())
			}
			item.ProtoReflect().Set(f, v)
			sel.keys[f.JSONName()] = keyText(f, v)
		}
	}
	if len(sel.keys) == len(m.keyNames()) {
		return sel.setKey(m, i, item, label)
	}
	return nil
}

func (sel *selection) setKey(m *model, i int, item proto.Message, label string) *pathError {
	if len(m.names) == 0 && !m.Singleton() {
		sel.key = m.KeyPrefix() + label
	} else {
		var err error
		if sel.key, err = m.KeyOf(item); err != nil {
			return wrong(i, "%v", err)
		}
	}
	if !m.Matches(sel.key) {
		return wrong(i, "%s: the keys name no item", m.name)
	}
	return nil
}

// fieldElem reads the element of a field. Models that do not have it are not selected.
func fieldElem(sel *selection, i int, name string) *pathError {
	if len(sel.trees) > 1 {
		return wrong(i, "fields need the name of a tree instead of %s", anyElem)
	}
	t := sel.trees[0]
	if sel.fields == nil {
		sel.fields = sel.messages(t)
	}
	switch {
	case sel.fields == nil && t.alike:
		return wrong(i, "%s: none of the models is in /%s", name, t.name)
	case sel.fields == nil:
		return wrong(i, "fields need the name of a model instead of %s", anyElem)
	}
	var first *pathError
	having := sel.fields[:0]
	for _, p := range sel.fields {
		if err := p.add(i, name); err == nil {
			having = append(having, p)
		} else if first == nil {
			first = err
		}
	}
	if len(having) == 0 {
		return first
	}
	sel.fields = having
	if first != nil {
		sel.models = slices.DeleteFunc(slices.Clone(sel.models), func(m *model) bool {
			return !slices.ContainsFunc(having, func(p fieldPath) bool { return p.of == t.fields(m) })
		})
	}
	return nil
}

// messages returns the messages that a tree has of the selected models, without fields. There are
// none if a path must name a model.
func (sel *selection) messages(t *tree) (all []fieldPath) {
	if sel.model() == nil && !t.alike {
		return nil
	}
	for _, m := range sel.models {
		of := t.fields(m)
		if of != nil && !slices.ContainsFunc(all, func(p fieldPath) bool { return p.of == of }) {
			all = append(all, fieldPath{of: of})
		}
	}
	return all
}

func fieldOf(within protoreflect.MessageDescriptor, i int, name string) (protoreflect.FieldDescriptor, *pathError) {
	if name == anyElem {
		return nil, wrong(i, "%s: wildcards are supported for trees, models and keys, not for fields", name)
	}
	var names []string
	for j := range within.Fields().Len() {
		f := within.Fields().Get(j)
		if f.JSONName() == name || string(f.Name()) == name {
			return f, nil
		}
		names = append(names, f.JSONName())
	}
	return nil, wrong(i, "unknown field %q of %s%s", name, within.Name(), didYouMean(name, names))
}

func kindText(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map"
	case f.IsList():
		return "list"
	}
	return f.Kind().String()
}
