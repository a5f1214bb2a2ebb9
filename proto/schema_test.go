package proto_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	schema "github.com/tenuto-dev/tenuto/proto"
	"github.com/tenuto-dev/tenuto/proto/ligato"
	_ "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	_ "github.com/tenuto-dev/tenuto/proto/ligato/generic"
	_ "github.com/tenuto-dev/tenuto/proto/ligato/govppmux"
	_ "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	_ "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
	_ "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

var update = flag.Bool("update", false, "add what the generated code has more to additions.txt")

// TestSchemaIsCompatible compares the generated code with the committed tables, in both
// directions: the predecessor's table, and the additions. Peers that were built with a line
// of either rely on it, so nothing but new lines is written, with -update.
func TestSchemaIsCompatible(t *testing.T) {
	t.Parallel()
	added := tableLines(t, additions)
	want := splitEnums(slices.Concat(parseTable(t, "testdata/schema.txt"), tableLines(t, "testdata/constraints.txt"), added))
	got := slices.Concat(factsOf(allFiles), constraintsOf(allFiles))
	if more := slices.DeleteFunc(slices.Clone(got), func(fact string) bool { return slices.Contains(want, fact) }); *update && len(more) > 0 {
		f, err := os.OpenFile(additions, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(strings.Join(more, "\n") + "\n")
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		want = append(want, more...)
	}
	compare(t, want, got)
}

const additions = "additions.txt"

// TestFormerSchema checks that clients of the predecessor are shown its schema, and nothing else.
func TestFormerSchema(t *testing.T) {
	t.Parallel()
	want := splitEnums(slices.Concat(parseTable(t, "testdata/schema.txt"), tableLines(t, "testdata/constraints.txt")))
	var former files = func(yield func(protoreflect.FileDescriptor) bool) {
		for _, line := range want {
			path, ok := strings.CutPrefix(line, "## file ")
			if !ok {
				continue
			}
			path, _, _ = strings.Cut(path, " ")
			f, err := schema.Former.FindFileByPath(path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else if !yield(f) {
				return
			}
		}
	}
	compare(t, want, slices.Concat(factsOf(former), constraintsOf(former)))
	for f := range former {
		if d := protodesc.ToFileDescriptorProto(f); strings.Contains(d.String(), "ligato.item") || strings.Contains(d.String(), "ligato.sample") {
			t.Errorf("%s has options that the predecessor lacks", f.Path())
		}
		for i := range f.Imports().Len() {
			if path := f.Imports().Get(i).Path(); strings.HasPrefix(path, "ligato/") && !slices.ContainsFunc(want, func(line string) bool {
				return strings.HasPrefix(line, "## file "+path+" ")
			}) {
				t.Errorf("%s imports %s, which the predecessor lacks", f.Path(), path)
			}
		}
	}
	for f := range allFiles {
		if _, err := schema.Former.FindFileByPath(f.Path()); err != nil {
			t.Errorf("%s: %v", f.Path(), err)
		}
	}
}

// files yields files of the schema.
type files = func(yield func(protoreflect.FileDescriptor) bool)

// TestJSONNamesAreDefault guards the spelling of fields in JSON and YAML: it
// must follow from the names in the table.
func TestJSONNamesAreDefault(t *testing.T) {
	t.Parallel()
	for fd := range fieldsOf(allFiles) {
		if got, want := fd.JSONName(), camel(string(fd.Name())); got != want {
			t.Errorf("%s: JSON name %q, want %q", fd.FullName(), got, want)
		}
	}
}

func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

func compare(t *testing.T, want, got []string) {
	t.Helper()
	for _, fact := range want {
		if !slices.Contains(got, fact) {
			t.Errorf("the tables in testdata have, but the generated code has not:\n  %s", fact)
		}
	}
	for _, fact := range got {
		if !slices.Contains(want, fact) {
			t.Errorf("the generated code has, but the tables in testdata have not (-update adds it):\n  %s", fact)
		}
	}
}

// tableLines returns the lines of a table after its introduction, which ends
// at the first empty line.
func tableLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "\n\n")
	var lines []string
	for line := range strings.Lines(body) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 && path != additions {
		t.Fatalf("%s: no lines", path)
	}
	return lines
}

// splitEnums makes each value of an enum a fact of its own, so that an enum can get more.
func splitEnums(facts []string) (split []string) {
	for _, fact := range facts {
		name, values, ok := strings.Cut(fact, " { ")
		if !ok || !strings.Contains(name, ": enum ") {
			split = append(split, fact)
			continue
		}
		for value := range strings.SplitSeq(strings.TrimSuffix(values, " }"), ", ") {
			split = append(split, name+": "+value)
		}
	}
	return split
}

// parseTable turns the indented table into self-contained facts, one per line:
// a field is prefixed with its message, a method with its service, and every
// top-level declaration with its file.
func parseTable(t *testing.T, path string) []string {
	t.Helper()
	var (
		facts []string
		file  string
		scope []string // enclosing message or service, by depth
	)
	for _, line := range tableLines(t, path) {
		text := strings.TrimLeft(line, " ")
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		kind, rest, _ := strings.Cut(text, " ")
		switch {
		case kind == "##":
			file = strings.Fields(text)[2]
			facts = append(facts, text)
		case kind == "message" || kind == "service":
			scope = append(scope[:depth], rest)
			facts = append(facts, file+": "+text)
		case kind == "enum" || kind == "extend":
			facts = append(facts, file+": "+text)
		case depth > 0 && depth <= len(scope):
			facts = append(facts, scope[depth-1]+": "+text)
		default:
			t.Fatalf("%s: cannot read %q", path, line)
		}
	}
	return facts
}

// allFiles yields the files of the schema.
func allFiles(yield func(protoreflect.FileDescriptor) bool) {
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(fd.Path(), "ligato/") && !strings.HasPrefix(fd.Path(), "tenuto/v1/") {
			return true
		}
		return yield(fd)
	})
}

func factsOf(all files) []string {
	var facts []string
	for fd := range all {
		path := fd.Path()
		facts = append(facts, fmt.Sprintf("## file %s  (package %s)", path, fd.Package()))
		facts = append(facts, enumFacts(path, fd.Enums())...)
		facts = append(facts, messageFacts(path, fd.Messages())...)
		for i := range fd.Extensions().Len() {
			x := fd.Extensions().Get(i)
			facts = append(facts, fmt.Sprintf("%s: extend %s { %s %s = %d }",
				path, x.ContainingMessage().FullName(), typeName(x), x.Name(), x.Number()))
		}
		for i := range fd.Services().Len() {
			facts = append(facts, serviceFacts(path, fd.Services().Get(i))...)
		}
	}
	return facts
}

func enumFacts(path string, enums protoreflect.EnumDescriptors) []string {
	var facts []string
	for i := range enums.Len() {
		e := enums.Get(i)
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			facts = append(facts, fmt.Sprintf("%s: enum %s: %s=%d", path, e.FullName(), v.Name(), v.Number()))
		}
	}
	return facts
}

func messageFacts(path string, messages protoreflect.MessageDescriptors) []string {
	var facts []string
	for i := range messages.Len() {
		m := messages.Get(i)
		if m.IsMapEntry() {
			continue
		}
		facts = append(facts, fmt.Sprintf("%s: message %s", path, m.FullName()))
		for j := range m.Fields().Len() {
			facts = append(facts, fmt.Sprintf("%s: %s", m.FullName(), fieldFact(m.Fields().Get(j))))
		}
		facts = append(facts, enumFacts(path, m.Enums())...)
		facts = append(facts, messageFacts(path, m.Messages())...)
	}
	return facts
}

func fieldFact(fd protoreflect.FieldDescriptor) string {
	fact := fmt.Sprintf("%d %s: ", fd.Number(), fd.Name())
	switch {
	case fd.IsMap():
		fact += fmt.Sprintf("map<%s, %s>", typeName(fd.MapKey()), typeName(fd.MapValue()))
	case fd.IsList():
		fact += "repeated " + typeName(fd)
	case fd.HasOptionalKeyword():
		fact += "optional " + typeName(fd)
	default:
		fact += typeName(fd)
	}
	if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
		fact += fmt.Sprintf("  [oneof %s]", o.Name())
	}
	return fact
}

func typeName(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return string(fd.Message().FullName())
	case protoreflect.EnumKind:
		return string(fd.Enum().FullName())
	default:
		return fd.Kind().String()
	}
}

func serviceFacts(path string, s protoreflect.ServiceDescriptor) []string {
	facts := []string{fmt.Sprintf("%s: service %s", path, s.FullName())}
	stream := map[bool]string{true: "stream "}
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		facts = append(facts, fmt.Sprintf("%s: rpc %s(%s%s) returns (%s%s)", s.FullName(), m.Name(),
			stream[m.IsStreamingClient()], m.Input().FullName(),
			stream[m.IsStreamingServer()], m.Output().FullName()))
	}
	return facts
}

func fieldsOf(all files) func(yield func(protoreflect.FieldDescriptor) bool) {
	return func(yield func(protoreflect.FieldDescriptor) bool) {
		var walk func(ms protoreflect.MessageDescriptors) bool
		walk = func(ms protoreflect.MessageDescriptors) bool {
			for i := range ms.Len() {
				m := ms.Get(i)
				for j := range m.Fields().Len() {
					if !yield(m.Fields().Get(j)) {
						return false
					}
				}
				if !walk(m.Messages()) {
					return false
				}
			}
			return true
		}
		for fd := range all {
			if !walk(fd.Messages()) {
				return
			}
		}
	}
}

func constraintsOf(all files) []string {
	var facts []string
	for fd := range fieldsOf(all) {
		opts, _ := fd.Options().(*descriptorpb.FieldOptions)
		if opts.GetDeprecated() {
			facts = append(facts, fmt.Sprintf("%s deprecated", fd.FullName()))
		}
		if !proto.HasExtension(opts, ligato.E_LigatoOptions) {
			continue
		}
		lo := proto.GetExtension(opts, ligato.E_LigatoOptions).(*ligato.LigatoOptions)
		if lo.GetType() != ligato.LigatoOptions_UNSPECIFIED {
			facts = append(facts, fmt.Sprintf("%s type %s", fd.FullName(), lo.GetType()))
		}
		if r := lo.GetIntRange(); r != nil {
			facts = append(facts, fmt.Sprintf("%s int_range %d..%d", fd.FullName(), r.GetMinimum(), r.GetMaximum()))
		}
	}
	for fd := range all {
		facts = append(facts, deprecatedValues(protodesc.ToFileDescriptorProto(fd))...)
	}
	return facts
}

// deprecatedValues lists the deprecated enum values of a file, nested or not.
func deprecatedValues(file *descriptorpb.FileDescriptorProto) []string {
	var facts []string
	enums := func(scope string, es []*descriptorpb.EnumDescriptorProto) {
		for _, e := range es {
			for _, v := range e.GetValue() {
				if v.GetOptions().GetDeprecated() {
					facts = append(facts, fmt.Sprintf("%s.%s:%s deprecated", scope, e.GetName(), v.GetName()))
				}
			}
		}
	}
	var messages func(scope string, ms []*descriptorpb.DescriptorProto)
	messages = func(scope string, ms []*descriptorpb.DescriptorProto) {
		for _, m := range ms {
			enums(scope+"."+m.GetName(), m.GetEnumType())
			messages(scope+"."+m.GetName(), m.GetNestedType())
		}
	}
	enums(file.GetPackage(), file.GetEnumType())
	messages(file.GetPackage(), file.GetMessageType())
	return facts
}
