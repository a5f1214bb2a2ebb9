package proto

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

//go:embed additions.txt
var additionsTable string

// additions are what clients of the predecessor lack.
type additions struct {
	files map[string]bool // by path
	// names are full names of messages, fields, services and methods, enum values as
	// "enum:VALUE", extensions as "file extend name", and constraints of fields as
	// "field type", "field int_range" and "field deprecated".
	names map[string]bool
}

// addedNames are the forms of the lines of the table. The groups of an expression are the
// parts of a name, joined by sep.
var addedNames = []struct {
	line *regexp.Regexp
	sep  string
}{
	{regexp.MustCompile(`^([\w.]+): \d+ (\w+): `), "."},
	{regexp.MustCompile(`^([\w.]+): rpc (\w+)\(`), "."},
	{regexp.MustCompile(`^\S+: (?:message|service) (\S+)$`), ""},
	{regexp.MustCompile(`^\S+: enum (\S+): (\w+)=`), ":"},
	{regexp.MustCompile(`^([\w.]+) (type|int_range|deprecated)\b`), " "},
	{regexp.MustCompile(`^(\S+:\w+) (deprecated)$`), " "},
	{regexp.MustCompile(`^(\S+): extend \S+ \{ \S+ (\w+) = `), " extend "},
}

var addedFile = regexp.MustCompile(`^## file (\S+) `)

var readAdditions = sync.OnceValue(func() *additions {
	a := &additions{map[string]bool{}, map[string]bool{}}
	for line := range strings.Lines(additionsTable) {
		a.add(strings.TrimRight(line, "\n"))
	}
	return a
})

func (a *additions) add(line string) {
	if m := addedFile.FindStringSubmatch(line); m != nil {
		a.files[m[1]] = true
		return
	}
	for _, form := range addedNames {
		if m := form.line.FindStringSubmatch(line); m != nil {
			a.names[strings.Join(m[1:], form.sep)] = true
			return
		}
	}
}

// IsAddition reports whether clients of the predecessor lack a message type.
func IsAddition(message protoreflect.FullName) bool { return readAdditions().names[string(message)] }

// IsAddedField reports whether clients of the predecessor lack a field of a message that they have.
func IsAddedField(f protoreflect.FieldDescriptor) bool {
	return readAdditions().names[string(f.FullName())] && !IsAddition(f.ContainingMessage().FullName())
}

// WithoutAdditions returns m without the fields that clients of the predecessor lack, and
// the full names of the removed fields, sorted. It changes a copy of m, if anything.
func WithoutAdditions(m proto.Message) (reduced proto.Message, removed []string) {
	found := map[string]bool{}
	eachAddition(m.ProtoReflect(), func(_ protoreflect.Message, f protoreflect.FieldDescriptor) { found[string(f.FullName())] = true })
	if len(found) == 0 {
		return m, nil
	}
	m = proto.Clone(m)
	eachAddition(m.ProtoReflect(), protoreflect.Message.Clear)
	return m, slices.Sorted(maps.Keys(found))
}

// eachAddition visits the fields of a message that are set and that clients of the
// predecessor lack.
func eachAddition(m protoreflect.Message, visit func(protoreflect.Message, protoreflect.FieldDescriptor)) {
	added := readAdditions().names
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case added[string(f.FullName())]:
			visit(m, f)
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool {
					eachAddition(e.Message(), visit)
					return true
				})
			}
		case f.IsList():
			for i := 0; f.Message() != nil && i < v.List().Len(); i++ {
				eachAddition(v.List().Get(i).Message(), visit)
			}
		case f.Message() != nil:
			eachAddition(v.Message(), visit)
		}
		return true
	})
}
