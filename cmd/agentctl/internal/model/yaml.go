package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/custommodel"
	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// sampleOf returns the sample of a field of the model; empty: none.
func (g *generator) sampleOf(f protoreflect.FieldDescriptor) string {
	if len(g.within) > 0 { // a field within a field
		return ""
	}
	sample, _ := proto.GetExtension(f.Options(), ligato.E_Sample).(string)
	return sample
}

// samplesByType are valid values of annotated texts.
var samplesByType = map[ligato.LigatoOptions_Type]string{
	ligato.LigatoOptions_IP: "10.0.0.1", ligato.LigatoOptions_IPV4: "10.0.0.1", ligato.LigatoOptions_IPV6: "2001:db8::1",
	ligato.LigatoOptions_IP_WITH_MASK: "10.0.0.0/24", ligato.LigatoOptions_IPV4_WITH_MASK: "10.0.0.0/24",
	ligato.LigatoOptions_IPV6_WITH_MASK: "2001:db8::/64", ligato.LigatoOptions_IP_OPTIONAL_MASK: "10.0.0.0/24",
	ligato.LigatoOptions_IPV4_OPTIONAL_MASK: "10.0.0.0/24", ligato.LigatoOptions_IPV6_OPTIONAL_MASK: "2001:db8::/64",
}

// generator writes an item as YAML: what has to be given with a sample, and everything
// else as fields that are commented out.
type generator struct {
	*explainer
	keys   []protoreflect.FieldDescriptor // the fields that every name of an item contains
	named  bool                           // keys are known
	custom bool                           // the model is not one of the agent
	within []protoreflect.FullName        // messages that are being written
}

// generator returns the generator for items of a model.
func (e *explainer) generator(m models.Known) *generator {
	_, custom := m.(*custommodel.Model)
	g := &generator{explainer: e, custom: custom}
	if name := m.Name(); name != nil {
		g.keys, g.named = name.Required(), true
	}
	return g
}

// generate returns a file with one item of a model.
func (e *explainer) generate(m models.Known) string {
	g := e.generator(m)
	d := m.NewInstance().ProtoReflect().Descriptor()
	place, list := e.codec.Place(m.Spec().ModelName())
	group, field, _ := strings.Cut(place, ".")
	lines := append(comment(e.comments.Of(d.FullName())), group+":", "  "+field+":")
	if list {
		lines = append(lines, "  -")
	}
	given := slices.ContainsFunc(fieldsIn(d), g.required)
	for _, f := range fieldsIn(d) {
		needed := g.required(f) || !given && f.Index() == 0
		doc, body := g.field(f, needed)
		if !needed {
			body = indent("#", body)
		}
		lines = append(lines, indent("    ", append(doc, body...))...)
	}
	return strings.Join(lines, "\n") + "\n"
}

func fieldsIn(d protoreflect.MessageDescriptor) (list []protoreflect.FieldDescriptor) {
	for i := range d.Fields().Len() {
		list = append(list, d.Fields().Get(i))
	}
	return list
}

func indent(by string, lines []string) []string {
	indented := make([]string, len(lines))
	for i, line := range lines {
		indented[i] = by + line
	}
	return indented
}

func comment(text string) (lines []string) {
	if text == "" {
		return nil
	}
	return indent("# ", strings.Split(output.Wrap(text, textWidth-6, false), "\n"))
}

// required reports whether a field of an item has to be given.
func (g *generator) required(f protoreflect.FieldDescriptor) bool {
	switch {
	case g.sampleOf(f) != "":
		return true
	case f.IsList() || f.Message() != nil:
		return false
	case slices.Contains(g.keys, f) || models.Annotation(f).Required != "":
		return true
	case f.Enum() != nil:
		return g.forbidden(f.Enum().Values().Get(0))
	}
	return !g.named && f.Index() == 0 && f.Kind() == protoreflect.StringKind // of a custom model
}

// needed reports whether an item, or the message in it that has the field, is not valid without the
// field: the schema declares it, or it is a text that is the name of the item, which has to have one. Of
// custom models that are named by several fields, all texts are needed. top: the field is one of the item.
func (g *generator) needed(f protoreflect.FieldDescriptor, top bool) bool {
	if annotation := models.Annotation(f); annotation.NeedsValue() {
		return true
	}
	text := f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind
	name := g.custom || len(g.keys) == 1 && g.keys[0] == f
	return top && text && name && g.required(f)
}

func (g *generator) forbidden(v protoreflect.EnumValueDescriptor) bool {
	return strings.HasPrefix(g.comments.Of(v.FullName()), "Not allowed")
}

// field returns the comment of a field, and the field with a sample or its default.
func (g *generator) field(f protoreflect.FieldDescriptor, sample bool) (doc, body []string) {
	text := g.comments.Of(f.FullName())
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		var names []string
		for i := range o.Fields().Len() {
			names = append(names, o.Fields().Get(i).JSONName())
		}
		text += " Only one of " + strings.Join(names, ", ") + "."
	}
	if f.Enum() != nil {
		var names []string
		for i := range f.Enum().Values().Len() {
			if v := f.Enum().Values().Get(i); !g.forbidden(v) {
				names = append(names, string(v.Name()))
			}
		}
		text += " One of " + strings.Join(names, ", ") + "."
	}
	doc = comment(strings.TrimSpace(text))
	if value := g.sampleOf(f); value != "" {
		return doc, []string{f.JSONName() + ": " + value}
	}
	value := g.value(f, sample)
	if f.Message() == nil || f.IsMap() || slices.Contains(g.within, f.Message().FullName()) {
		return doc, []string{f.JSONName() + ": " + value}
	}
	g.within = append(g.within, f.Message().FullName())
	defer func() { g.within = g.within[:len(g.within)-1] }()
	body = []string{f.JSONName() + ":"}
	if f.IsList() {
		body = append(body, "-")
	}
	for _, inside := range fieldsIn(f.Message()) {
		doc, inner := g.field(inside, false)
		body = append(body, indent("  ", append(doc, inner...))...)
	}
	return doc, body
}

// value is a sample of a field, or its default.
func (g *generator) value(f protoreflect.FieldDescriptor, sample bool) string {
	o, _ := proto.GetExtension(f.Options(), ligato.E_LigatoOptions).(*ligato.LigatoOptions)
	switch {
	case f.IsList():
		return "[]"
	case f.IsMap() || f.Message() != nil:
		return "{}"
	case f.Enum() != nil:
		return g.enumValue(f.Enum().Values())
	case o.GetIntRange().GetMinimum() > 0:
		return fmt.Sprint(o.GetIntRange().GetMinimum())
	case f.Kind() != protoreflect.StringKind && f.Kind() != protoreflect.BytesKind:
		return fmt.Sprint(f.Default().Interface())
	case !sample:
		return `""`
	}
	return cmp.Or(samplesByType[o.GetType()], strings.ToUpper(string(f.Name())))
}

// enumValue is the first one that is allowed.
func (g *generator) enumValue(values protoreflect.EnumValueDescriptors) string {
	for i := range values.Len() {
		if !g.forbidden(values.Get(i)) {
			return string(values.Get(i).Name())
		}
	}
	return string(values.Get(0).Name())
}
