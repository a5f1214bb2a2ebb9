package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func (a *app) generateCommand() *cobra.Command {
	var oneLine bool
	var schema string
	cmd := verbatim(a.formatted(&cobra.Command{
		Use: "generate MODEL", Aliases: []string{"gen"}, Args: args(cobra.ExactArgs(1)),
		Short: "Print an item of a model with all its fields, to be filled in",
		Long: "Prints a file with an item of a model: the fields that it needs with samples, and all others\n" +
			"with their defaults behind a '#', and what each is for. With -o json or proto, or a template,\n" +
			"it is the item alone as it is stored below a key, without alternatives (oneof).",
		Example:           "  agentctl generate vpp.l2.bridge-domain > bd.yaml && $EDITOR bd.yaml && agentctl apply bd.yaml",
		ValidArgsFunction: a.completeModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := a.selectModels(args)
			if err != nil {
				return err
			}
			if len(found) > 1 {
				return usage("%q: expected the name of one model, not of %d", args[0], len(found))
			}
			if oneLine || a.format != "" && !strings.EqualFold(a.format, "yaml") {
				return a.writeItem(oneLine, found[0].NewInstance())
			}
			e, err := a.newExplainer(cmd.Context())
			if err != nil {
				return err
			}
			text := e.generate(found[0])
			if schema != "" {
				text = "# yaml-language-server: $schema=" + schema + "\n" + text
			}
			return a.print(text)
		},
	}, protoFormat))
	cmd.Flags().BoolVar(&oneLine, "oneline", false, "everything in one line (json, proto)")
	cmd.Flags().StringVar(&schema, "schema", "", "begin with a comment that makes editors check the file by the schema of this `file` or URL (agentctl model schema)")
	return cmd
}

// writeItem writes a message with all its fields.
func (a *app) writeItem(oneLine bool, m proto.Message) error {
	if a.asProto() {
		separator := "\n"
		if oneLine {
			separator = " "
		}
		return a.printf("%s\n", strings.Join(textFields(m.ProtoReflect().Descriptor()), separator))
	}
	text, err := protojson.MarshalOptions{EmitUnpopulated: true, UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err
	}
	if !oneLine {
		return a.write(cmp.Or(a.format, "json"), json.RawMessage(text))
	}
	if a.format != "" && !strings.EqualFold(a.format, "json") {
		return usage("--oneline: expected the format json or proto")
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	return a.printf("%s\n", line.Bytes())
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
