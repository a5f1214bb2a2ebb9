package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

type generateOptions struct {
	*cmdutil.Factory
	oneLine bool
	schema  string
}

// NewGenerate returns the command "generate".
func NewGenerate(f *cmdutil.Factory) *cobra.Command {
	o := &generateOptions{Factory: f}
	cmd := output.Verbatim(f.Formatted(&cobra.Command{
		Use: "generate MODEL", Aliases: []string{"gen"}, Args: cmdutil.Args(cobra.ExactArgs(1)),
		Short: "Print an item of a model with all its fields, to be filled in",
		Long: "Prints a file with an item of a model: the fields that it needs with samples, and all others\n" +
			"with their defaults behind a '#', and what each is for. With -o json or proto, or a template,\n" +
			"it is the item alone as it is stored below a key, without alternatives (oneof).",
		Example:           "  agentctl generate vpp.l2.bridge-domain > bd.yaml && $EDITOR bd.yaml && agentctl apply bd.yaml",
		ValidArgsFunction: f.CompleteModels,
		RunE:              o.run,
	}, output.Proto))
	cmd.Flags().BoolVar(&o.oneLine, "oneline", false, "everything in one line (json, proto)")
	cmd.Flags().StringVar(&o.schema, "schema", "", "begin with a comment that makes editors check the file by the schema of this `file` or URL (agentctl model schema)")
	return cmd
}

func (o *generateOptions) run(cmd *cobra.Command, args []string) error {
	found, err := o.Models.Select(args)
	if err != nil {
		return err
	}
	if len(found) > 1 {
		return exit.Usagef("%q: expected the name of one model, not of %d", args[0], len(found))
	}
	if o.oneLine || o.Format != "" && !strings.EqualFold(o.Format, "yaml") {
		return o.writeItem(o.oneLine, found[0].NewInstance())
	}
	e, err := newExplainer(cmd.Context(), o.Factory)
	if err != nil {
		return err
	}
	text := e.generate(found[0])
	if o.schema != "" {
		text = "# yaml-language-server: $schema=" + o.schema + "\n" + text
	}
	return o.Print(text)
}

// writeItem writes a message with all its fields.
func (o *generateOptions) writeItem(oneLine bool, m proto.Message) error {
	if o.AsProto() {
		separator := "\n"
		if oneLine {
			separator = " "
		}
		return o.Printf("%s\n", strings.Join(textFields(m.ProtoReflect().Descriptor()), separator))
	}
	text, err := protojson.MarshalOptions{EmitUnpopulated: true, UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err
	}
	if !oneLine {
		return o.Write(cmp.Or(o.Format, "json"), json.RawMessage(text))
	}
	if o.Format != "" && !strings.EqualFold(o.Format, "json") {
		return exit.Usagef("--oneline: expected the format json or proto")
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	return o.Printf("%s\n", line.Bytes())
}

// textFields returns the fields of an empty message in the text format, which
// prototext omits.
func textFields(d protoreflect.MessageDescriptor) []string {
	var fields []string
	for _, f := range fieldsIn(d) {
		if f.ContainingOneof() != nil {
			continue
		}
		value := "{}"
		switch {
		case f.IsList(), f.IsMap():
			value = "[]"
		case f.Enum() != nil:
			value = string(f.Enum().Values().ByNumber(f.Default().Enum()).Name())
		case f.Kind() == protoreflect.StringKind, f.Kind() == protoreflect.BytesKind:
			value = `""`
		case f.Message() == nil:
			value = f.Default().String()
		}
		fields = append(fields, f.TextName()+": "+value)
	}
	return fields
}
