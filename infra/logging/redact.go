package logging

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// hidden replaces a secret.
const hidden = "***"

// anyName is the type of messages that hold a message of another type.
const anyName = "google.protobuf.Any"

// Redact returns m in the text form of protocol buffers on one line, with the
// secrets in it replaced by "***": fields marked with the option debug_redact,
// and text or byte fields whose name says that they hold a secret (password,
// secret, token, private_key, crypto_key, ...). The work is done by String, so
// an entry that is not written costs nothing. Loggers apply it to every proto
// message among their values.
func Redact(m proto.Message) fmt.Stringer { return redacted{m} }

type redacted struct{ m proto.Message }

func (r redacted) String() string {
	if r.m == nil || !r.m.ProtoReflect().IsValid() {
		return "<nil>"
	}
	m := r.m
	if holdsSecrets(m.ProtoReflect().Descriptor(), map[protoreflect.FullName]bool{}) {
		m = proto.Clone(m)
		hideSecrets(m.ProtoReflect())
	}
	return prototext.MarshalOptions{Multiline: false, AllowPartial: true}.Format(m)
}

func redactable(value any) (fmt.Stringer, bool) {
	m, ok := value.(proto.Message)
	if !ok {
		return nil, false
	}
	return Redact(m), true
}

// holdsSecrets tells whether a message of the type can hold a secret, so that
// most messages need not be copied.
func holdsSecrets(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	if d.FullName() == anyName {
		return true
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if isSecret(f) {
			return true
		}
		if f.Message() != nil && holdsSecrets(f.Message(), seen) {
			return true
		}
	}
	return false
}

func hideSecrets(m protoreflect.Message) {
	if m.Descriptor().FullName() == anyName { // could hold anything: only the type is shown
		m.Clear(m.Descriptor().Fields().ByName("value"))
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case isSecret(f):
			hide(m, f)
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool {
				hideSecrets(e.Message())
				return true
			})
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				hideSecrets(v.List().Get(i).Message())
			}
		case !f.IsMap() && f.Message() != nil:
			hideSecrets(v.Message())
		}
		return true
	})
}

func hide(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch {
	case f.Cardinality() == protoreflect.Repeated:
		m.Clear(f)
	case f.Kind() == protoreflect.StringKind:
		m.Set(f, protoreflect.ValueOfString(hidden))
	case f.Kind() == protoreflect.BytesKind:
		m.Set(f, protoreflect.ValueOfBytes([]byte(hidden)))
	default:
		m.Clear(f)
	}
}

func isSecret(f protoreflect.FieldDescriptor) bool {
	if o, ok := f.Options().(*descriptorpb.FieldOptions); ok && o.GetDebugRedact() {
		return true
	}
	if f.Kind() != protoreflect.StringKind && f.Kind() != protoreflect.BytesKind {
		return false
	}
	name := strings.ToLower(string(f.Name()))
	return slices.Contains([]string{"key", "psk", "token"}, name) && f.Kind() == protoreflect.BytesKind ||
		slices.ContainsFunc([]string{
			"password", "passwd", "secret", "private_key", "crypto_key", "integ_key", "preshared_key", "auth_token",
		}, func(s string) bool { return strings.Contains(name, s) })
}
