package logging

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
)

// Hidden replaces a secret where it is shown.
const Hidden = "***"

// anyName is the type of messages that hold a message of another type.
const anyName = "google.protobuf.Any"

// secretNames are parts of the names of text and byte fields that hold a secret,
// without what separates words.
var secretNames = []string{"password", "passwd", "secret", "privatekey", "cryptokey", "integkey", "presharedkey", "authtoken"}

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
	return IsSecretName(name)
}

// IsSecretName tells whether the name of a text says that it is a secret, in any of
// the forms that names of fields have (private_key, privateKey).
func IsSecretName(name string) bool {
	joined := strings.ReplaceAll(strings.ToLower(name), "_", "")
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.Contains(joined, s) })
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
// taken from where secrets are not shown; "" if there is none. Every value that is
// configured goes through it: it looks at the values first, and at the names of
// fields only where that says so.
func HiddenField(m proto.Message) string {
	if m == nil {
		return ""
	}
	return hiddenField(m.ProtoReflect())
}

func hiddenField(m protoreflect.Message) (path string) {
	within := func(f protoreflect.FieldDescriptor, index string, m protoreflect.Message) bool {
		if at := hiddenField(m); at != "" {
			path = string(f.Name()) + index + "." + at
		}
		return path == ""
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
					return within(f, "["+k.String()+"]", e.Message())
				})
			}
		case f.IsList():
			for i := 0; f.Message() != nil && i < v.List().Len() && path == ""; i++ {
				within(f, "["+strconv.Itoa(i)+"]", v.List().Get(i).Message())
			}
		case f.Message() != nil:
			within(f, "", v.Message())
		case f.Kind() == protoreflect.StringKind && v.String() == Hidden, f.Kind() == protoreflect.BytesKind && string(v.Bytes()) == Hidden:
			if IsSecret(f) {
				path = string(f.Name())
			}
		}
		return path == ""
	})
	return path
}

// holdsSecret tells whether there is something to hide.
func holdsSecret(m protoreflect.Message) bool {
	found := false
	eachSecret(m, func(protoreflect.Message, protoreflect.FieldDescriptor) bool {
		found = true
		return false
	})
	return found
}

func hideSecrets(m protoreflect.Message) {
	eachSecret(m, func(m protoreflect.Message, f protoreflect.FieldDescriptor) bool {
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
func eachSecret(m protoreflect.Message, visit func(m protoreflect.Message, f protoreflect.FieldDescriptor) bool) (goOn bool) {
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
		return visit(m, value)
	}
	goOn = true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case IsSecret(f):
			goOn = visit(m, f)
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool {
				goOn = eachSecret(e.Message(), visit)
				return goOn
			})
		case f.IsList() && f.Message() != nil:
			for i := 0; i < v.List().Len() && goOn; i++ {
				goOn = eachSecret(v.List().Get(i).Message(), visit)
			}
		case !f.IsMap() && f.Message() != nil:
			goOn = eachSecret(v.Message(), visit)
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
