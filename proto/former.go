package proto

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// Former resolves names to descriptors for clients of the predecessor. Its files have the schema
// of the predecessor, without anything in additions.txt. Such a client writes messages of these
// descriptors with all their fields, and reads them into the types that it was compiled with,
// which refuse fields that they lack. Files that the predecessor lacks are complete, and import
// the files of the predecessor.
var Former protodesc.Resolver = former{}

type former struct{}

func (former) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	return formerFiles().FindFileByPath(path)
}

func (former) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	return formerFiles().FindDescriptorByName(name)
}

// formerFiles has all files of the program; files of the predecessor are reduced.
var formerFiles = sync.OnceValue(func() *protoregistry.Files {
	files := &protoregistry.Files{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		registerFormer(files, f)
		return true
	})
	return files
})

// registerFormer registers the reduced file f, after the files that it imports.
func registerFormer(files *protoregistry.Files, f protoreflect.FileDescriptor) protoreflect.FileDescriptor {
	if known, err := files.FindFileByPath(f.Path()); err == nil {
		return known
	}
	same := true // f and the files that it imports are not reduced
	for i := range f.Imports().Len() {
		if imported := f.Imports().Get(i).FileDescriptor; !imported.IsPlaceholder() && registerFormer(files, imported) != imported {
			same = false
		}
	}
	result := f
	if d := protodesc.ToFileDescriptorProto(f); reduceFile(d) || !same {
		reduced, err := protodesc.NewFile(d, files)
		if err == nil {
			result = reduced
		} // else it is no file of the predecessor, and uses an addition: it keeps the complete imports
	}
	_ = files.RegisterFile(result) // it cannot fail: all names are unique in the global registry
	return result
}

// reduceFile removes the additions from a file of the predecessor. It reports whether anything changed.
func reduceFile(f *descriptorpb.FileDescriptorProto) bool {
	a := readAdditions()
	if a.files[f.GetName()] || !strings.HasPrefix(f.GetName(), "ligato/") {
		return false
	}
	before := proto.Clone(f)
	f.MessageType = a.reduceMessages(f.GetPackage(), f.MessageType)
	f.EnumType = a.reduceEnums(f.GetPackage(), f.EnumType)
	f.Service = slices.DeleteFunc(f.Service, func(s *descriptorpb.ServiceDescriptorProto) bool {
		name := f.GetPackage() + "." + s.GetName()
		s.Method = slices.DeleteFunc(s.Method, func(m *descriptorpb.MethodDescriptorProto) bool { return a.names[name+"."+m.GetName()] })
		return a.names[name]
	})
	f.Extension = slices.DeleteFunc(f.Extension, func(x *descriptorpb.FieldDescriptorProto) bool { return a.names[f.GetName()+" extend "+x.GetName()] })
	removeImports(f)
	return !proto.Equal(before, f)
}

func (a *additions) reduceMessages(scope string, messages []*descriptorpb.DescriptorProto) []*descriptorpb.DescriptorProto {
	return slices.DeleteFunc(messages, func(m *descriptorpb.DescriptorProto) bool {
		name := scope + "." + m.GetName()
		if a.names[name] {
			return true
		}
		if m.Options != nil {
			proto.ClearExtension(m.Options, ligato.E_Item)
		}
		if proto.Size(m.Options) == 0 {
			m.Options = nil
		}
		entries := map[string]bool{} // types of removed maps
		m.Field = slices.DeleteFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool {
			field := name + "." + f.GetName()
			if a.names[field] {
				entries[f.GetTypeName()] = true
				return true
			}
			if f.Options != nil {
				a.reduceOptions(field, f.Options)
			}
			if proto.Size(f.Options) == 0 {
				f.Options = nil
			}
			return false
		})
		removeOneofs(m)
		m.NestedType = slices.DeleteFunc(m.NestedType, func(n *descriptorpb.DescriptorProto) bool {
			return n.GetOptions().GetMapEntry() && entries["."+name+"."+n.GetName()]
		})
		m.NestedType = a.reduceMessages(name, m.NestedType)
		m.EnumType = a.reduceEnums(name, m.EnumType)
		return false
	})
}

// reduceEnums removes values, and enums that have no other values.
func (a *additions) reduceEnums(scope string, enums []*descriptorpb.EnumDescriptorProto) []*descriptorpb.EnumDescriptorProto {
	return slices.DeleteFunc(enums, func(e *descriptorpb.EnumDescriptorProto) bool {
		name := scope + "." + e.GetName()
		e.Value = slices.DeleteFunc(e.Value, func(v *descriptorpb.EnumValueDescriptorProto) bool {
			if a.names[name+":"+v.GetName()+" deprecated"] {
				v.GetOptions().Deprecated = nil
			}
			return a.names[name+":"+v.GetName()]
		})
		return len(e.Value) == 0
	})
}

// reduceOptions removes the constraints of a field that the predecessor lacks.
func (a *additions) reduceOptions(field string, o *descriptorpb.FieldOptions) {
	if a.names[field+" deprecated"] {
		o.Deprecated = nil
	}
	proto.ClearExtension(o, ligato.E_Sample)
	proto.ClearExtension(o, ligato.E_Lenient)
	proto.ClearExtension(o, ligato.E_Required)
	proto.ClearExtension(o, ligato.E_RequiredIf)
	limits, ok := proto.GetExtension(o, ligato.E_LigatoOptions).(*ligato.LigatoOptions)
	if !ok || limits == nil {
		return
	}
	if a.names[field+" type"] {
		limits.Type = ligato.LigatoOptions_UNSPECIFIED
	}
	if a.names[field+" int_range"] {
		limits.IntRange = nil
	}
	if proto.Size(limits) == 0 {
		proto.ClearExtension(o, ligato.E_LigatoOptions)
	}
}

// removeOneofs removes the oneofs that have lost all their fields.
func removeOneofs(m *descriptorpb.DescriptorProto) {
	used := make([]bool, len(m.OneofDecl))
	for _, f := range m.Field {
		if f.OneofIndex != nil {
			used[f.GetOneofIndex()] = true
		}
	}
	index, left := make([]int32, len(used)), m.OneofDecl[:0]
	for i, o := range m.OneofDecl {
		index[i] = int32(len(left))
		if used[i] {
			left = append(left, o)
		}
	}
	m.OneofDecl = left
	for _, f := range m.Field {
		if f.OneofIndex != nil {
			f.OneofIndex = proto.Int32(index[f.GetOneofIndex()])
		}
	}
}

// removeImports removes the imports of messages and enums that the file no longer uses.
func removeImports(f *descriptorpb.FileDescriptorProto) {
	used := map[string]bool{"google/protobuf/descriptor.proto": true} // of options
	add := func(name string) {
		if d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.TrimPrefix(name, "."))); err == nil {
			used[d.ParentFile().Path()] = true
		}
	}
	var visit func(messages []*descriptorpb.DescriptorProto)
	visit = func(messages []*descriptorpb.DescriptorProto) {
		for _, m := range messages {
			for _, field := range m.Field {
				add(field.GetTypeName())
				used["ligato/annotations.proto"] = used["ligato/annotations.proto"] || proto.HasExtension(field.GetOptions(), ligato.E_LigatoOptions)
			}
			visit(m.NestedType)
		}
	}
	visit(f.MessageType)
	for _, x := range f.Extension {
		add(x.GetTypeName())
	}
	for _, s := range f.Service {
		for _, m := range s.Method {
			add(m.GetInputType())
			add(m.GetOutputType())
		}
	}
	f.Dependency = slices.DeleteFunc(f.Dependency, func(path string) bool { return !used[path] })
}
