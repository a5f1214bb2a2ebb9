package gnmi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// change is the change of items that a Set makes.
type change struct {
	*service
	items  map[string]proto.Message // by key; nil: the item is removed
	fields map[string]string        // by key: the field of the request that the item is from
	bases  map[string]proto.Message // by key: what items were made from
	wrong  apierr.Violations
	// foreign is why an item cannot be removed; nil: all can.
	foreign error

	union bool    // a union_replace, which does not build on what exists
	parts []*part // of the union
}

// part is what a union_replace says of an item.
type part struct {
	key, field string
	read       func(item protoreflect.Message) []*document.Error
}

func (s *service) newChange() *change {
	return &change{service: s, items: map[string]proto.Message{}, fields: map[string]string{}, bases: map[string]proto.Message{}}
}

func (c *change) fail(field, format string, args ...any) {
	c.wrong = append(c.wrong, apierr.Violation{Field: field, Text: fmt.Sprintf(format, args...)})
}

// failAll adds the errors of a value.
func (c *change) failAll(field string, errs []*document.Error) (failed bool) {
	for _, e := range errs {
		c.fail(strings.TrimSuffix(field+"."+e.Field, "."), "%s", e.Msg)
	}
	return len(errs) > 0
}

// stored returns what a change of an item builds on: the item of clients, or else the one in
// effect; nil if there is none.
func (s *service) stored(key string) proto.Message {
	it := s.Orchestrator.Item(key)
	for _, src := range it.Sources {
		if src.Source == orchestrator.GRPC {
			return src.Val
		}
	}
	if len(it.Sources) > 0 {
		return it.Sources[0].Val
	}
	return nil
}

// base is stored with the changes so far.
func (c *change) base(key string) proto.Message {
	m, changed := c.items[key]
	if !changed && !c.union {
		m = c.stored(key)
		c.bases[key] = m
	}
	return m
}

// moved returns a key whose item was changed by another client since the change was made; empty
// if there is none.
func (c *change) moved() string {
	for key, base := range c.bases {
		if c.stored(key) != base {
			return key
		}
	}
	return ""
}

// put sets an item.
func (c *change) put(key string, item proto.Message, field string) {
	item = c.Orchestrator.RestoreSecrets(orchestrator.GRPC, key, item)
	if hidden := logging.HiddenField(item); hidden != "" {
		c.fail(field+"."+hidden, "%s", document.HiddenText)
		return
	}
	c.items[key], c.fields[key] = item, field
}

// remove removes the items of clients that are selected.
func (c *change) remove(sel *selection) {
	for _, kv := range c.Orchestrator.ListData(orchestrator.GRPC) {
		if m := c.modelOf(kv.Key); m != nil && sel.has(m, kv.Key, kv.Val.ProtoReflect()) {
			c.items[kv.Key] = nil
		}
	}
}

// writable reports whether a selection is one of the configuration.
func (c *change) writable(sel *selection, field string) bool {
	if sel.trees[0].name == configTree {
		return true
	}
	c.fail(field+".elem[0]", "/%s is read-only: expected /%s", sel.trees[0].name, configTree)
	return false
}

// delete removes the selected items or fields.
func (c *change) delete(sel *selection, field string) {
	switch {
	case !c.writable(sel, field):
	case sel.key == "" && sel.field() == nil:
		c.remove(sel)
	case sel.key == "":
		for _, kv := range c.Orchestrator.ListData(orchestrator.GRPC) {
			if m := c.modelOf(kv.Key); m != nil && sel.has(m, kv.Key, kv.Val.ProtoReflect()) {
				c.reset(sel, kv.Key, field)
			}
		}
	case sel.field() != nil:
		c.reset(sel, sel.key, field)
	default:
		c.deleteItem(sel, field)
	}
}

func (c *change) deleteItem(sel *selection, field string) {
	sources := c.Orchestrator.Item(sel.key).Sources
	if slices.ContainsFunc(sources, func(s orchestrator.SourceItem) bool { return s.Source == orchestrator.GRPC }) {
		c.items[sel.key] = nil
	} else if len(sources) > 0 && c.foreign == nil {
		c.foreign = status.Errorf(codes.FailedPrecondition, "nothing was changed: %s: %s is an item of source %s: remove it there", field, sel.key, sources[0].Source)
	}
}

// reset resets a field of an item, if there is one.
func (c *change) reset(sel *selection, key, field string) {
	base := c.base(key)
	if base == nil {
		return
	}
	item := proto.Clone(base)
	m := item.ProtoReflect()
	for _, f := range sel.path()[:len(sel.path())-1] {
		if !m.Has(f) {
			return
		}
		m = m.Mutable(f).Message()
	}
	m.Clear(sel.field())
	if c.keeps(sel, item, key, field) {
		c.put(key, item, field)
	}
}

// keeps reports whether a changed item has the same key.
func (c *change) keeps(sel *selection, item proto.Message, key, field string) bool {
	now, err := sel.models[0].KeyOf(item)
	if err == nil && now == key {
		return true
	}
	c.fail(field, "%s is a part of the name of the item: delete the item, and add another", sel.field().JSONName())
	return false
}

// write replaces or updates the selected items or fields.
func (c *change) write(sel *selection, val *gpb.TypedValue, replace bool, field string) {
	switch {
	case sel.wildcard:
		c.fail(field+".path", "wildcards are for deletions only")
	case !c.writable(sel, field+".path"):
	case sel.field() != nil:
		c.writeField(sel, val, replace, field)
	case sel.depth == 2:
		c.writeModel(sel, val, replace, field+".val")
	default:
		c.writeTree(sel, val, replace, field+".val")
	}
}

// writeTree writes an object with values by model; the object of the root has the tree around
// it.
func (c *change) writeTree(sel *selection, val *gpb.TypedValue, replace bool, field string) {
	text, err := toJSON(val, nil)
	if err != nil {
		c.fail(field, "%v", err)
		return
	}
	if sel.depth == 0 {
		trees, err := object(text)
		if err != nil || len(trees) != 1 || trees[configTree] == nil {
			c.fail(field, "expected a JSON object with the field %s", configTree)
			return
		}
		text, field = trees[configTree], field+"."+configTree
	}
	byModel, err := object(text)
	if err != nil {
		c.fail(field, "expected a JSON object with the names of models: %v", err)
		return
	}
	if replace {
		c.remove(sel)
	}
	var names []string
	for _, m := range c.models {
		names = append(names, m.name)
	}
	for _, name := range slices.Sorted(maps.Keys(byModel)) {
		at := slices.Index(names, name)
		if at < 0 {
			c.fail(field+"."+name, "unknown model%s", didYouMean(name, names))
			continue
		}
		c.writeItems(c.models[at], nil, byModel[name], replace, field+"."+name)
	}
}

// object returns the fields of a JSON object.
func object(text []byte) (map[string]json.RawMessage, error) {
	if !json.Valid(text) {
		return nil, errors.New("malformed JSON")
	}
	in := json.NewDecoder(bytes.NewReader(text))
	if first, err := in.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	fields := map[string]json.RawMessage{}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, err
		}
		text, _ := name.(string) // names are texts
		if _, twice := fields[text]; twice {
			return nil, fmt.Errorf("%s is given twice", text)
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, err
		}
		fields[text] = value
	}
	return fields, nil
}

// writeModel writes an item, or a list of items if the path has no keys.
func (c *change) writeModel(sel *selection, val *gpb.TypedValue, replace bool, field string) {
	m := sel.models[0]
	text, err := toJSON(val, m.NewInstance().ProtoReflect().Descriptor())
	if err != nil {
		c.fail(field, "%v", err)
		return
	}
	if replace && isList(text) && len(sel.keys) == 0 {
		c.remove(sel)
	}
	c.writeItems(m, sel.keys, text, replace, field)
}

func isList(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) }

func (c *change) writeItems(m *model, keys map[string]string, text []byte, replace bool, field string) {
	if m.Singleton() || len(keys) > 0 || !isList(text) {
		c.writeItem(m, keys, text, replace, field)
		return
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		c.fail(field, "malformed JSON: %v", err)
		return
	}
	seen := map[string]int{}
	for i, one := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		key := c.writeItem(m, nil, one, replace, at)
		if first, twice := seen[key]; twice && key != "" {
			c.fail(at, "the same item as %s[%d]", field, first)
		}
		seen[key] = i
	}
}

// writeItem writes an item. Its key fields come from the path, the other fields from the value.
// It returns the scheduler's key, empty if the value is invalid.
func (c *change) writeItem(m *model, keys map[string]string, text []byte, replace bool, field string) (key string) {
	item := m.NewInstance()
	read := func(into protoreflect.Message) []*document.Error { return c.codec.ReadMessage(text, into) }
	if c.failAll(field, read(item.ProtoReflect())) || !c.fillKeys(m, keys, item, field) {
		return ""
	}
	key, err := m.KeyOf(item)
	switch label := keys[labelKey]; {
	case err != nil:
		c.fail(field, "%v", err)
		return ""
	case !m.Matches(key):
		c.fail(field, "the value names no item: expected %s", strings.Join(m.keyNames(), ", "))
		return ""
	case len(m.names) == 0 && label != "" && label != m.Label(key):
		c.fail(field, "the item is %s: expected %s, the key of the path", m.Label(key), label)
		return ""
	}
	if base := c.base(key); base != nil && !replace {
		item = proto.Clone(base)
		c.failAll(field, read(item.ProtoReflect())) // it was read before
	}
	c.part(key, field, read)
	c.put(key, item, field)
	return key
}

// fillKeys sets the fields of keys, which must not contradict the value.
func (c *change) fillKeys(m *model, keys map[string]string, item proto.Message, field string) bool {
	for name, text := range keys {
		f, _ := m.keyField(name)
		if f == nil {
			continue
		}
		v, err := parseKey(f, text)
		if err != nil {
			c.fail(field+"."+name, "%v", err)
			return false
		}
		of := item.ProtoReflect()
		given, has := of.Get(f), of.Has(f)
		before, _ := m.KeyOf(item)
		of.Set(f, v)
		if after, _ := m.KeyOf(item); has && before != after {
			c.fail(field+"."+name, "%s contradicts the key of the path, %s", keyText(f, given), text)
			return false
		}
	}
	return true
}

// writeField writes a field of an item. The item is made if there is none.
func (c *change) writeField(sel *selection, val *gpb.TypedValue, replace bool, field string) {
	m, f := sel.models[0], sel.field()
	if sel.key == "" {
		c.fail(field+".path", "the path names no single item of %s: expected the keys %s", m.name, strings.Join(m.keyNames(), ", "))
		return
	}
	text, err := toJSON(val, f.Message())
	if err != nil {
		c.fail(field+".val", "%v", err)
		return
	}
	item := m.NewInstance()
	if base := c.base(sel.key); base != nil {
		item = proto.Clone(base)
	} else if !c.fillKeys(m, sel.keys, item, field+".path") {
		return
	}
	read := func(into protoreflect.Message) []*document.Error {
		for _, f := range sel.path()[:len(sel.path())-1] {
			into = into.Mutable(f).Message()
		}
		if replace {
			into.Clear(f)
		}
		return c.codec.ReadField(text, into, f)
	}
	if c.failAll(field+".val", read(item.ProtoReflect())) || !c.keeps(sel, item, sel.key, field+".path") {
		return
	}
	c.part(sel.key, field, read)
	c.put(sel.key, item, field+".val")
}

// part notes a part of a union.
func (c *change) part(key, field string, read func(protoreflect.Message) []*document.Error) {
	if c.union {
		c.parts = append(c.parts, &part{key, field, read})
	}
}

// checkUnion reports parts of a union that contradict each other: reading one again would
// change its item.
func (c *change) checkUnion() {
	for _, p := range c.parts {
		item := c.items[p.key]
		if item == nil {
			continue // it is invalid
		}
		again := proto.Clone(item)
		p.read(again.ProtoReflect())
		if !proto.Equal(item, c.Orchestrator.RestoreSecrets(orchestrator.GRPC, p.key, again)) {
			c.fail(p.field, "contradicts a later value for %s", p.key)
		}
	}
}

// make reads the operations of a request, in the order of the specification.
func (c *change) make(req *gpb.SetRequest) {
	c.each(req, "delete", req.GetDelete(), func(sel *selection, _ int, field string) { c.delete(sel, field) })
	for _, op := range []struct {
		field   string
		list    []*gpb.Update
		replace bool
	}{{"replace", req.GetReplace(), true}, {"update", req.GetUpdate(), false}, {"union_replace", req.GetUnionReplace(), false}} {
		c.union = op.field == "union_replace"
		paths := make([]*gpb.Path, len(op.list))
		for i, u := range op.list {
			paths[i] = u.GetPath()
		}
		c.each(req, op.field, paths, func(sel *selection, i int, field string) { c.write(sel, op.list[i].GetVal(), op.replace, field) })
	}
	c.checkUnion()
	c.union = len(req.GetUnionReplace()) > 0
}

// each calls f with the selection of each path.
func (c *change) each(req *gpb.SetRequest, name string, paths []*gpb.Path, f func(sel *selection, i int, field string)) {
	for i, p := range paths {
		field := fmt.Sprintf("%s[%d]", name, i)
		at := field
		if name != "delete" {
			at += ".path"
		}
		if sel, err := c.parse(req.GetPrefix(), p, nil); err != nil {
			c.wrong = append(c.wrong, err.violation(req.GetPrefix(), at))
		} else {
			f(sel, i, field)
		}
	}
}
