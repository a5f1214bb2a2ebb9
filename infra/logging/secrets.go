package logging

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
)

// Hidden replaces a secret where it is shown.
const Hidden = "***"

// anyName is the type of messages that hold a message of another type.
const anyName = "google.protobuf.Any"

// secretNames are parts of the names of text and byte fields that hold a secret.
var secretNames = []string{
	"password", "passwd", "secret", "private_key", "crypto_key", "integ_key", "preshared_key", "auth_token",
}

// IsSecret tells whether a field holds a secret: it is marked with the option
// debug_redact, or it is a text or byte field whose name says so (password, secret,
// private_key, crypto_key, ...), or the salt of a key.
func IsSecret(f protoreflect.FieldDescriptor) bool {
	if o, ok := f.Options().(*descriptorpb.FieldOptions); ok && o.GetDebugRedact() {
		return true
	}
	name := strings.ToLower(string(f.Name()))
	switch f.Kind() {
	case protoreflect.BytesKind:
		if slices.Contains([]string{"key", "psk", "token"}, name) {
			return true
		}
	case protoreflect.StringKind:
	default:
		return name == "crypto_salt"
	}
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.Contains(name, s) })
}

// secretTypes remembers of types of messages whether they can hold a secret: most
// cannot, and there may be millions of such messages. It is a cache of what follows
// from the types, and nothing else.
var secretTypes sync.Map // of bool, by descriptor

// canHold tells whether a message of the type, or one within it, can hold a secret.
func canHold(d protoreflect.MessageDescriptor) bool {
	if can, known := secretTypes.Load(d); known {
		return can.(bool)
	}
	can := canHoldAny(d, map[protoreflect.FullName]bool{})
	secretTypes.Store(d, can)
	return can
}

func canHoldAny(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	if d.FullName() == anyName {
		return true
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if IsSecret(f) || f.Message() != nil && canHoldAny(f.Message(), seen) {
			return true
		}
	}
	return false
}

// HideSecrets returns m as it may be shown: where a secret is set, a copy of m in
// which text and bytes are replaced by Hidden and other secrets left out, and true.
// Messages within messages are looked at, also packed ones (Any) of known types;
// of unknown ones only the type is left.
func HideSecrets(m proto.Message) (shown proto.Message, hidden bool) {
	if m == nil || !m.ProtoReflect().IsValid() || !holdsSecret(m.ProtoReflect()) {
		return m, false
	}
	m = proto.Clone(m)
	hideSecrets(m.ProtoReflect())
	return m, true
}

// HiddenField returns the path of a secret of m that is Hidden, so that it was
// taken from where secrets are not shown; "" if there is none.
func HiddenField(m proto.Message) string {
	path := ""
	if m == nil {
		return path
	}
	eachSecret("", m.ProtoReflect(), func(at string, m protoreflect.Message, f protoreflect.FieldDescriptor) bool {
		if f.Cardinality() == protoreflect.Repeated {
			return true
		}
		v := m.Get(f)
		if f.Kind() == protoreflect.StringKind && v.String() == Hidden || f.Kind() == protoreflect.BytesKind && string(v.Bytes()) == Hidden {
			path = at
			return false
		}
		return true
	})
	return path
}

// holdsSecret tells whether there is something to hide.
func holdsSecret(m protoreflect.Message) bool {
	found := false
	eachSecret("", m, func(string, protoreflect.Message, protoreflect.FieldDescriptor) bool {
		found = true
		return false
	})
	return found
}

func hideSecrets(m protoreflect.Message) {
	eachSecret("", m, func(_ string, m protoreflect.Message, f protoreflect.FieldDescriptor) bool {
		if m.Descriptor().FullName() == anyName {
			hidePacked(m, f)
			return true
		}
		hide(m, f)
		return true
	})
}

// hidePacked hides the secrets of the message in an Any.
func hidePacked(m protoreflect.Message, value protoreflect.FieldDescriptor) {
	if packed, ok := m.Interface().(*anypb.Any); ok {
		inner, err := packed.UnmarshalNew()
		if err == nil {
			hideSecrets(inner.ProtoReflect())
			wire, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(inner)
			if err == nil {
				m.Set(value, protoreflect.ValueOfBytes(wire))
				return
			}
		}
	}
	m.Clear(value) // could hold anything
}

// eachSecret visits the secrets that are set, and the values of messages of type
// Any that hold some or could, until visit returns false.
func eachSecret(path string, m protoreflect.Message, visit func(path string, m protoreflect.Message, f protoreflect.FieldDescriptor) bool) (goOn bool) {
	if !canHold(m.Descriptor()) {
		return true
	}
	if m.Descriptor().FullName() == anyName {
		value := m.Descriptor().Fields().ByName("value")
		if !m.Has(value) {
			return true
		}
		if packed, ok := m.Interface().(*anypb.Any); ok {
			if inner, err := packed.UnmarshalNew(); err == nil && !holdsSecret(inner.ProtoReflect()) {
				return true
			}
		}
		return visit(path, m, value)
	}
	goOn = true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := strings.TrimPrefix(path+"."+string(f.Name()), ".")
		switch {
		case IsSecret(f):
			goOn = visit(at, m, f)
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				goOn = eachSecret(fmt.Sprintf("%s[%s]", at, k), e.Message(), visit)
				return goOn
			})
		case f.IsList() && f.Message() != nil:
			for i := 0; i < v.List().Len() && goOn; i++ {
				goOn = eachSecret(fmt.Sprintf("%s[%d]", at, i), v.List().Get(i).Message(), visit)
			}
		case !f.IsMap() && f.Message() != nil:
			goOn = eachSecret(at, v.Message(), visit)
		}
		return goOn
	})
	return goOn
}

func hide(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch {
	case f.Cardinality() == protoreflect.Repeated:
		m.Clear(f)
	case f.Kind() == protoreflect.StringKind:
		m.Set(f, protoreflect.ValueOfString(Hidden))
	case f.Kind() == protoreflect.BytesKind:
		m.Set(f, protoreflect.ValueOfBytes([]byte(Hidden)))
	default:
		m.Clear(f)
	}
}
