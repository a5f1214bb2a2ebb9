package model

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/custommodel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/proto/ligato"
	"github.com/tenuto-dev/tenuto/proto/protodoc"
)

type explainOptions struct {
	*cmdutil.Factory
}

// NewExplain returns the command "explain".
func NewExplain(f *cmdutil.Factory) *cobra.Command {
	o := &explainOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use:   "explain MODEL[.FIELD...]",
		Short: "Show what a model is for, and its fields",
		Long: "Shows what a model or one of its fields is for, where it is in a file, and which fields it\n" +
			"has, with their types and limits, and which are required. A part of the name of a model is\n" +
			"enough if no other has it (\"explain bridge-domain\"). Without an agent it knows the models of\n" +
			"vpp-agent.",
		Example:           "  agentctl explain vpp.interfaces\n  agentctl explain vpp.interfaces.memif.secret\n  agentctl explain vpp.interfaces -o json",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: o.completeFields,
		RunE:              o.run,
	})
}

func (o *explainOptions) run(cmd *cobra.Command, args []string) error {
	e, err := newExplainer(cmd.Context(), o.Factory)
	if err != nil {
		return err
	}
	x, err := e.explain(args[0])
	if err != nil {
		return err
	}
	return output.Show(o.Printer, x, func(x explanation) error { return o.Print(x.text()) })
}

// completeFields completes MODEL.FIELD.FIELD.
func (o *explainOptions) completeFields(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names, directive := o.CompleteModels(cmd, nil, prefix)
	e := &explainer{set: o.Models.Set()}
	path := prefix[:max(strings.LastIndexByte(prefix, '.'), 0)]
	m, fields, err := e.find(path)
	if err != nil {
		return names, directive
	}
	message, at := m.NewInstance().ProtoReflect().Descriptor(), m.Spec().ModelName()
	for _, name := range fields {
		f, err := fieldOf(message, at, name)
		if err != nil || f.Message() == nil {
			return names, directive
		}
		message = f.Message()
	}
	for _, f := range fieldsIn(message) {
		if name := path + "." + f.TextName(); strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, directive
}

// explainer describes models by the schema.
type explainer struct {
	set      *models.Set
	codec    *document.Codec
	comments *protodoc.Comments
}

func newExplainer(ctx context.Context, f *cmdutil.Factory) (*explainer, error) {
	set := f.Models.Set()
	comments, err := protodoc.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range set.All() {
		custom, ok := m.(*custommodel.Model)
		if !ok || custom.Schema == "" {
			continue
		}
		if err := comments.Add(ctx, custom.Message.ParentFile(), custom.Schema); err != nil {
			fmt.Fprintf(f.Err, "model %s has no comments: %v\n", custom.Model.Name, err)
		}
	}
	return &explainer{set, document.New(set), comments}, nil
}

// find splits MODEL.FIELD.FIELD at the end of the longest name of a model.
func (e *explainer) find(name string) (m models.Known, fields []string, err error) {
	for _, candidate := range e.set.All() {
		model := candidate.Spec().ModelName()
		rest, ok := strings.CutPrefix(name, model)
		if !ok || rest != "" && rest[0] != '.' || m != nil && len(m.Spec().ModelName()) > len(model) {
			continue
		}
		m, fields = candidate, strings.FieldsFunc(rest, func(r rune) bool { return r == '.' })
	}
	if m != nil {
		return m, fields, nil
	}
	with := e.modelsWithElement(name)
	if len(with) == 1 {
		return with[0], nil, nil
	}
	if of := e.modelsWithField(name); len(of) > 0 && len(with) == 0 {
		return nil, nil, exit.Usagef("no model %q; it is a field of %s", name, strings.Join(of, ", "))
	}
	return nil, nil, exit.Usage(cmdutil.NoModel(e.set, name))
}

// modelsWithElement returns the models whose names contain a word as an element: vpp.l2.bridge-domain for
// "bridge-domain".
func (e *explainer) modelsWithElement(word string) (found []models.Known) {
	var names []string
	for _, m := range e.set.All() {
		names = append(names, m.Spec().ModelName())
	}
	for _, name := range suggest.WithElement(word, names) {
		if m, ok := e.set.ForName(name); ok {
			found = append(found, m)
		}
	}
	return found
}

// maxModels is the number of models that are named which have the same field.
const maxModels = 5

// modelsWithField returns the paths of the fields with a name, for a user who gave the name of a
// field instead of a model.
func (e *explainer) modelsWithField(name string) (paths []string) {
	for _, m := range e.set.All() {
		for _, f := range fieldsIn(m.NewInstance().ProtoReflect().Descriptor()) {
			if string(f.Name()) == name || f.JSONName() == name {
				paths = append(paths, m.Spec().ModelName()+"."+name)
			}
		}
	}
	slices.Sort(paths)
	if more := len(paths) - maxModels; more > 0 {
		paths = append(paths[:maxModels], fmt.Sprintf("and %d more", more))
	}
	return paths
}

// explanation is what "explain" says about a model, or about one of its fields.
type explanation struct {
	Model   string           `json:",omitempty"`
	Keys    string           `json:",omitempty"` // what the keys of the model look like
	InFiles string           `json:",omitempty"` // where its items are in a file
	Field   *explainedField  `json:",omitempty"` // with its path as name
	Message string           `json:",omitempty"` // of the model or field
	About   string           `json:",omitempty"` // the message
	Fields  []explainedField `json:",omitempty"`
}

type explainedField struct {
	Name     string
	Type     string
	Limits   string `json:",omitempty"`
	Required bool   `json:",omitempty"` // an item, or the message in it, is not valid without it
	// RequiredIf is a condition in words on which it is required.
	RequiredIf string           `json:",omitempty"`
	OneOf      string           `json:",omitempty"` // name of the group
	About      string           `json:",omitempty"`
	Values     []explainedValue `json:",omitempty"` // of an enum
}

type explainedValue struct {
	Name  string
	About string `json:",omitempty"`
}

func (e *explainer) explain(name string) (x explanation, err error) {
	m, fields, err := e.find(name)
	if err != nil {
		return x, err
	}
	message, path := m.NewInstance().ProtoReflect().Descriptor(), m.Spec().ModelName()
	g := e.generator(m)
	var field protoreflect.FieldDescriptor
	for _, f := range fields {
		if message == nil {
			return x, exit.Usagef("%s: a %s has no fields", path, typeName(field))
		}
		if field, err = fieldOf(message, path, f); err != nil {
			return x, err
		}
		message, path = field.Message(), path+"."+string(field.Name())
	}
	if field == nil {
		x.Model, x.Keys, x.InFiles = path, cmdutil.KeyExample(m), e.place(m)
	} else {
		f := e.field(field)
		f.Name, f.Required, x.Field = path, g.needed(field, len(fields) == 1), &f
	}
	if message != nil {
		x.Message, x.About = string(message.FullName()), e.comments.Of(message.FullName())
		for _, f := range fieldsIn(message) {
			explained := e.field(f)
			explained.Required = g.needed(f, field == nil)
			x.Fields = append(x.Fields, explained)
		}
	}
	return x, nil
}

func (e *explainer) field(f protoreflect.FieldDescriptor) explainedField {
	annotation := models.Annotation(f)
	x := explainedField{
		Name: string(f.Name()), Type: typeName(f), Limits: limitsOf(f), RequiredIf: annotation.RequiredIf, About: e.comments.Of(f.FullName()),
	}
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		x.OneOf = string(o.Name())
	}
	if f.Enum() != nil {
		values := f.Enum().Values()
		for i := range values.Len() {
			v := values.Get(i)
			x.Values = append(x.Values, explainedValue{string(v.Name()), e.comments.Of(v.FullName())})
		}
	}
	return x
}

// text returns the explanation for people.
func (x *explanation) text() string {
	var b strings.Builder
	if x.Field == nil {
		fmt.Fprintf(&b, "MODEL:    %s  <%s>\nKEY:      %s\nIN FILES: %s\n\n", x.Model, x.Message, x.Keys, x.InFiles)
	} else {
		fmt.Fprintf(&b, "FIELD:    %s  <%s>%s\n\n", x.Field.Name, x.Field.Type, x.Field.requirement())
		x.Field.text(&b, "")
		if x.Message != "" {
			b.WriteByte('\n')
		}
	}
	paragraph(&b, "", x.About)
	if x.Message != "" {
		b.WriteString("\nFIELDS:\n")
	}
	for _, f := range x.Fields {
		fmt.Fprintf(&b, "  %s  <%s>", f.Name, f.Type)
		if f.Limits != "" {
			b.WriteString("  " + f.Limits)
		}
		b.WriteString(f.requirement())
		if f.OneOf != "" {
			fmt.Fprintf(&b, "  (one of %s)", f.OneOf)
		}
		b.WriteByte('\n')
		f.text(&b, "    ")
	}
	return b.String()
}

// requirement is the mark of a field that is required.
func (f *explainedField) requirement() string {
	switch {
	case f.Required:
		return "  -required-"
	case f.RequiredIf != "":
		return "  -required if " + f.RequiredIf + "-"
	}
	return ""
}

// text writes what the field is for, and the values of an enum.
func (f *explainedField) text(b *strings.Builder, indent string) {
	paragraph(b, indent, f.About)
	for _, v := range f.Values {
		paragraph(b, indent+"  ", strings.TrimSuffix(v.Name+": "+v.About, ": "))
	}
}

// fieldOf finds a field by its name in the schema or in JSON.
func fieldOf(message protoreflect.MessageDescriptor, path, name string) (protoreflect.FieldDescriptor, error) {
	var known []string
	for _, f := range fieldsIn(message) {
		if string(f.Name()) == name || f.JSONName() == name {
			return f, nil
		}
		known = append(known, string(f.Name()))
	}
	if near := document.SimilarField(message, name); near != "" {
		return nil, exit.Usagef("%s has no field %q, did you mean %q?", path, name, near)
	}
	return nil, exit.Usagef("%s has no field %q; expected one of %s", path, name, strings.Join(known, ", "))
}

// place says where the items of a model are in a file.
func (e *explainer) place(m models.Known) string {
	place, list := e.codec.Place(m.Spec().ModelName())
	if list {
		place += "[]"
	}
	return place
}

// typeName is the type of a field as users write it.
func typeName(f protoreflect.FieldDescriptor) string {
	name := f.Kind().String()
	switch {
	case f.IsMap():
		return "map of " + f.MapKey().Kind().String() + " to " + typeName(f.MapValue())
	case f.Enum() != nil:
		name = "enum"
	case f.Message() != nil:
		name = string(f.Message().Name())
	}
	if f.IsList() {
		name = "list of " + name
	}
	return name
}

// limitsOf describes the constraints of a field.
func limitsOf(f protoreflect.FieldDescriptor) string {
	o, ok := proto.GetExtension(f.Options(), ligato.E_LigatoOptions).(*ligato.LigatoOptions)
	if !ok || o == nil {
		return ""
	}
	var limits []string
	if r := models.Annotation(f).Limits; r != nil {
		limits = append(limits, fmt.Sprintf("%d to %d", r.Min, r.Max))
	}
	if form := map[ligato.LigatoOptions_Type]string{
		ligato.LigatoOptions_IP: "an IP address", ligato.LigatoOptions_IPV4: "an IPv4 address", ligato.LigatoOptions_IPV6: "an IPv6 address",
		ligato.LigatoOptions_IP_WITH_MASK: "ADDRESS/LENGTH", ligato.LigatoOptions_IPV4_WITH_MASK: "ADDRESS/LENGTH of IPv4",
		ligato.LigatoOptions_IPV6_WITH_MASK: "ADDRESS/LENGTH of IPv6", ligato.LigatoOptions_IP_OPTIONAL_MASK: "ADDRESS or ADDRESS/LENGTH",
		ligato.LigatoOptions_IPV4_OPTIONAL_MASK: "ADDRESS or ADDRESS/LENGTH of IPv4", ligato.LigatoOptions_IPV6_OPTIONAL_MASK: "ADDRESS or ADDRESS/LENGTH of IPv6",
	}[o.GetType()]; form != "" {
		limits = append(limits, form)
	}
	return strings.Join(limits, ", ")
}

// textWidth is the width of explanations, in characters.
const textWidth = 80

func paragraph(b *strings.Builder, indent, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(output.Wrap(text, textWidth-len(indent), false), "\n") {
		b.WriteString(indent + line + "\n")
	}
}
