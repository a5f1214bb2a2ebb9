package genericclient

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
)

// The names of the message of NewDynamicConfig.
const (
	dynamicFile    = "ligato/configurator/dynamic_config.proto"
	dynamicPackage = "ligato.configurator.dynamic"
	dynamicRoot    = "Dynamic_config"
)

// NewDynamicConfig returns an empty message that can hold items of all given models, for
// GetConfig, GetFilteredConfig and for files in YAML or JSON. It has a group for the first
// part of the module of each model ("vpp_config"), as configurator.Config has. A model has
// the same field in it as there, if it has one there, else the field "Message_list"
// ("MessageList" in files), or "Message" for a singleton.
func NewDynamicConfig(knownModels []*ModelInfo) (*dynamicpb.Message, error) {
	b := builder{files: &protoregistry.Files{}, groups: map[string]*descriptorpb.DescriptorProto{}}
	b.file = &descriptorpb.FileDescriptorProto{Name: proto.String(dynamicFile), Package: proto.String(dynamicPackage), Syntax: proto.String("proto3")}
	b.root = &descriptorpb.DescriptorProto{Name: proto.String(dynamicRoot)}
	// The numbers of the fields do not depend on the order of the models.
	sorted := slices.SortedFunc(slices.Values(knownModels), func(a, b *ModelInfo) int {
		return strings.Compare(a.GetProtoName(), b.GetProtoName())
	})
	for _, m := range sorted {
		if err := b.add(m); err != nil {
			return nil, fmt.Errorf("dynamic configuration: model of %s: %w", m.GetProtoName(), err)
		}
	}
	b.file.MessageType = append(b.file.MessageType, b.root)
	file, err := protodesc.NewFile(b.file, b.files)
	if err != nil {
		return nil, fmt.Errorf("dynamic configuration: %w", err)
	}
	return dynamicpb.NewMessage(file.Messages().ByName(dynamicRoot)), nil
}

// builder collects the descriptor of a dynamic configuration.
type builder struct {
	files  *protoregistry.Files // of the models
	file   *descriptorpb.FileDescriptorProto
	root   *descriptorpb.DescriptorProto
	groups map[string]*descriptorpb.DescriptorProto // by field of the root
}

func (b *builder) add(m *ModelInfo) error {
	d := m.MessageDescriptor
	if d == nil {
		return fmt.Errorf("the message is unknown")
	}
	if err := b.require(d.ParentFile()); err != nil {
		return err
	}
	module, _, _ := strings.Cut(m.GetSpec().GetModule(), ".")
	group := b.group(module + "_config")
	field := &descriptorpb.FieldDescriptorProto{
		Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: proto.String("." + string(d.FullName())),
	}
	if known := formerField(group.GetName(), d.FullName()); known != nil {
		field.Name, field.JsonName = proto.String(string(known.Name())), proto.String(known.JSONName())
		field.Label = labelOf(known.IsList())
	} else {
		name, json := string(d.Name()), string(d.Name())
		if !m.singleton {
			name, json = name+"_list", json+"List"
		}
		field.Name, field.JsonName, field.Label = proto.String(name), proto.String(json), labelOf(!m.singleton)
	}
	for _, other := range group.Field {
		if other.GetName() == field.GetName() {
			return fmt.Errorf("field %s of %s belongs to %s", field.GetName(), group.GetName(), strings.TrimPrefix(other.GetTypeName(), "."))
		}
	}
	field.Number = proto.Int32(int32(len(group.Field) + 1))
	group.Field = append(group.Field, field)
	return nil
}

func labelOf(list bool) *descriptorpb.FieldDescriptorProto_Label {
	if list {
		return descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	return descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
}

// group returns the group of a field of the root, such as "vpp_config".
func (b *builder) group(field string) *descriptorpb.DescriptorProto {
	if g := b.groups[field]; g != nil {
		return g
	}
	g := &descriptorpb.DescriptorProto{Name: proto.String(field)}
	b.groups[field] = g
	b.file.MessageType = append(b.file.MessageType, g)
	b.root.Field = append(b.root.Field, &descriptorpb.FieldDescriptorProto{
		Name: proto.String(field), JsonName: proto.String(strings.Replace(field, "_config", "Config", 1)),
		Number: proto.Int32(int32(len(b.root.Field) + 1)), Label: labelOf(false),
		Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: proto.String("." + dynamicPackage + "." + field),
	})
	return g
}

// formerField returns the field that a type has in a group of configurator.Config; nil if
// there is none.
func formerField(group string, message protoreflect.FullName) protoreflect.FieldDescriptor {
	in := (&configurator.Config{}).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(group))
	if in == nil {
		return nil
	}
	fields := in.Message().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); fd.Message() != nil && fd.Message().FullName() == message {
			return fd
		}
	}
	return nil
}

// require makes the types of a file known, and imports it.
func (b *builder) require(file protoreflect.FileDescriptor) error {
	if !slices.Contains(b.file.Dependency, file.Path()) {
		b.file.Dependency = append(b.file.Dependency, file.Path())
	}
	if known, err := b.files.FindFileByPath(file.Path()); err == nil {
		if known != file {
			return fmt.Errorf("there are two files %s", file.Path())
		}
		return nil
	}
	return b.files.RegisterFile(file)
}
