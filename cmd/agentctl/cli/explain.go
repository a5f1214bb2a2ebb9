package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/proto/ligato"
	"github.com/tenuto-dev/tenuto/proto/protodoc"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain MODEL[.FIELD...]",
		Short: "Show what a model is for, and its fields",
		Long: "Shows what a model or one of its fields is for, where it is in a file, and which fields it\n" +
			"has, with their types and limits. Without an agent it knows the models of vpp-agent.",
		Example:           "  agentctl explain vpp.interfaces\n  agentctl explain vpp.interfaces.memif.secret",
		Args:              args(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeFields,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.newExplainer(cmd.Context())
			if err != nil {
				return err
			}
			return e.explain(a.Out, args[0])
		},
	}
}

// completeFields completes MODEL.FIELD.FIELD.
func (a *app) completeFields(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names, directive := a.completeModels(cmd, nil, prefix)
	e := &explainer{set: a.set()}
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

func (a *app) newExplainer(ctx context.Context) (*explainer, error) {
	set := a.set()
	comments, err := protodoc.Load(ctx)
	return &explainer{set, document.New(set), comments}, err
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
	return nil, nil, usageError{noModel(e.set, name)}
}

func (e *explainer) explain(w io.Writer, name string) error {
	m, fields, err := e.find(name)
	if err != nil {
		return err
	}
	message, path := m.NewInstance().ProtoReflect().Descriptor(), m.Spec().ModelName()
	var field protoreflect.FieldDescriptor
	for _, f := range fields {
		if message == nil {
			return usage("%s: a %s has no fields", path, typeName(field))
		}
		if field, err = fieldOf(message, path, f); err != nil {
			return err
		}
		message, path = field.Message(), path+"."+string(field.Name())
	}
	var b strings.Builder
	if field == nil {
		e.model(&b, m)
	} else {
		fmt.Fprintf(&b, "FIELD:    %s  <%s>\n\n", path, typeName(field))
		paragraph(&b, "", e.comments.Of(field.FullName()))
		e.values(&b, field, "")
		if message != nil {
			b.WriteByte('\n')
			paragraph(&b, "", e.comments.Of(message.FullName()))
		}
	}
	if message != nil {
		b.WriteString("\nFIELDS:\n")
		e.fields(&b, message)
	}
	_, err = io.WriteString(w, b.String())
	return err
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
	if near := suggest.Nearest(name, known); near != "" {
		return nil, usage("%s has no field %q, did you mean %q?", path, name, near)
	}
	return nil, usage("%s has no field %q; expected one of %s", path, name, strings.Join(known, ", "))
}

// place says where the items of a model are in a file.
func (e *explainer) place(m models.Known) string {
	place, list := e.codec.Place(m.Spec().ModelName())
	if list {
		place += "[]"
	}
	return place
}

func (e *explainer) model(b *strings.Builder, m models.Known) {
	fmt.Fprintf(b, "MODEL:    %s  <%s>\nKEY:      %s\nIN FILES: %s\n\n", m.Spec().ModelName(), m.ProtoName(), example(m), e.place(m))
	paragraph(b, "", e.comments.Of(m.ProtoName()))
}

func (e *explainer) fields(b *strings.Builder, message protoreflect.MessageDescriptor) {
	for _, f := range fieldsIn(message) {
		fmt.Fprintf(b, "  %s  <%s>", f.Name(), typeName(f))
		if limits := limitsOf(f); limits != "" {
			b.WriteString("  " + limits)
		}
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			fmt.Fprintf(b, "  (one of %s)", o.Name())
		}
		b.WriteByte('\n')
		paragraph(b, "    ", e.comments.Of(f.FullName()))
		e.values(b, f, "    ")
	}
}

// values lists the values of an enum.
func (e *explainer) values(b *strings.Builder, f protoreflect.FieldDescriptor, indent string) {
	if f.Enum() == nil {
		return
	}
	values := f.Enum().Values()
	for i := range values.Len() {
		v := values.Get(i)
		paragraph(b, indent+"  ", strings.TrimSuffix(fmt.Sprintf("%s: %s", v.Name(), e.comments.Of(v.FullName())), ": "))
	}
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
	if r := o.GetIntRange(); r != nil {
		limits = append(limits, fmt.Sprintf("%d to %d", r.GetMinimum(), r.GetMaximum()))
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
	for line := range strings.SplitSeq(wrap(text, textWidth-len(indent), false), "\n") {
		b.WriteString(indent + line + "\n")
	}
}
