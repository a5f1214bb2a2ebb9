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

// additions are the messages and fields that clients of the predecessor lack.
type additions struct {
	messages map[protoreflect.FullName]bool
	fields   map[protoreflect.FullName]bool
}

var (
	addedField   = regexp.MustCompile(`^([\w.]+): \d+ (\w+): `)
	addedMessage = regexp.MustCompile(`^\S+: message (\S+)$`)
)

var readAdditions = sync.OnceValue(func() additions {
	a := additions{map[protoreflect.FullName]bool{}, map[protoreflect.FullName]bool{}}
	for line := range strings.Lines(additionsTable) {
		line = strings.TrimRight(line, "\n")
		if m := addedField.FindStringSubmatch(line); m != nil {
			a.fields[protoreflect.FullName(m[1]+"."+m[2])] = true
		} else if m := addedMessage.FindStringSubmatch(line); m != nil {
			a.messages[protoreflect.FullName(m[1])] = true
		}
	}
	return a
})

// IsAddition reports whether clients of the predecessor lack a message type.
func IsAddition(message protoreflect.FullName) bool { return readAdditions().messages[message] }

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
	added := readAdditions().fields
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case added[f.FullName()]:
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
