package logging

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
)

// Hidden replaces secrets in output.
const Hidden = "***"

// anyName is the type of messages that contain a message of any type.
const anyName = "google.protobuf.Any"

// secretNames are parts of the names of string and byte fields that hold a
// secret, without word separators.
var secretNames = []string{"password", "passwd", "secret", "privatekey", "cryptokey", "integkey", "presharedkey", "authtoken"}

// IsSecret reports whether a field holds a secret: it has the option debug_redact,
// or it is a string or byte field with such a name (password, secret, private_key,
// crypto_key, ...), or the salt of a key.
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

// IsSecretName reports whether a name denotes a secret, in any format of field names
// (private_key, privateKey).
func IsSecretName(name string) bool {
	joined := strings.ReplaceAll(strings.ToLower(name), "_", "")
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.Contains(joined, s) })
}

// HoldsSecrets reports whether messages of a type have fields for secrets, in nested messages
// as well; what an Any contains does not count.
func HoldsSecrets(d protoreflect.MessageDescriptor) bool {
	return holdsSecrets(d, map[protoreflect.FullName]bool{})
}

func holdsSecrets(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if IsSecret(f) || f.Message() != nil && holdsSecrets(f.Message(), seen) {
			return true
		}
	}
	return false
}

// HideSecrets returns m for output. If it contains secrets, the result is a copy of
// m in which strings and bytes are replaced by Hidden and other secrets are
// removed, and true. It also hides secrets in nested messages and in packed ones
// (Any) of known types; of unknown ones it keeps only the type.
func HideSecrets(m proto.Message) (shown proto.Message, hidden bool) {
	if m == nil || !m.ProtoReflect().IsValid() || !holdsSecret(m.ProtoReflect()) {
		return m, false
	}
	m = proto.Clone(m)
	hideSecrets(m.ProtoReflect())
	return m, true
}

// HiddenField returns the path of a secret of m whose value is Hidden, which means
// that it was copied from redacted output; "" if there is none. Since every
// configured value passes it, it checks the values first, and the names of fields
// only if a value matches.
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
		case isHidden(f, v) && IsSecret(f):
			path = string(f.Name())
		}
		return path == ""
	})
	return path
}

// holdsSecret reports whether a message contains secrets.
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
	m.Clear(value) // its type is unknown
}

// eachSecret visits the secrets that are set, and the values of Any messages
// that contain secrets or have an unknown type, until visit returns false.
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

// RestoreSecrets is for values that a client read with hidden secrets and sends back: it
// returns a copy of m in which secrets that are Hidden have the values of stored. Other
// secrets of the same message that are missing have them as well, since HideSecrets
// removes those that are no text. An element of a list gets the secrets of the element
// that looks the same without them. What stored does not have stays hidden; see
// HiddenField.
func RestoreSecrets(m, stored proto.Message) proto.Message {
	if m == nil || stored == nil || m.ProtoReflect().Descriptor() != stored.ProtoReflect().Descriptor() {
		return m
	}
	m = proto.Clone(m)
	restoreSecrets(m.ProtoReflect(), stored.ProtoReflect())
	return m
}

func restoreSecrets(m, stored protoreflect.Message) {
	var secrets []protoreflect.FieldDescriptor
	hidden := false
	for i := range m.Descriptor().Fields().Len() {
		switch f := m.Descriptor().Fields().Get(i); {
		case IsSecret(f):
			hidden = hidden || isHidden(f, m.Get(f))
			secrets = append(secrets, f)
		case f.Message() != nil && m.Has(f):
			restoreWithin(f, m.Get(f), stored.Get(f))
		}
	}
	for _, f := range secrets {
		missing := !m.Has(f) && f.ContainingOneof() == nil
		if hidden && stored.Has(f) && (missing || isHidden(f, m.Get(f))) {
			m.Set(f, stored.Get(f))
		}
	}
}

// restoreWithin restores the secrets of the messages in a field.
func restoreWithin(f protoreflect.FieldDescriptor, v, stored protoreflect.Value) {
	switch {
	case f.IsMap():
		if f.MapValue().Message() == nil {
			return
		}
		v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
			if stored.Map().Has(k) {
				restoreSecrets(e.Message(), stored.Map().Get(k).Message())
			}
			return true
		})
	case f.IsList():
		for i := range v.List().Len() {
			e := v.List().Get(i).Message()
			for j := 0; j < stored.List().Len() && hiddenField(e) != ""; j++ {
				if from := stored.List().Get(j).Message(); looksLike(e, from) {
					restoreSecrets(e, from)
				}
			}
		}
	default:
		restoreSecrets(v.Message(), stored.Message())
	}
}

// looksLike reports whether a message is another one with hidden secrets.
func looksLike(m, stored protoreflect.Message) bool {
	shown, _ := HideSecrets(stored.Interface())
	return proto.Equal(m.Interface(), shown)
}

func isHidden(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
	switch {
	case f.Cardinality() == protoreflect.Repeated:
		return false
	case f.Kind() == protoreflect.StringKind:
		return v.String() == Hidden
	}
	return f.Kind() == protoreflect.BytesKind && string(v.Bytes()) == Hidden
}

func hide(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch {
	case !hidesAsText(f):
		m.Clear(f)
	case f.Kind() == protoreflect.StringKind:
		m.Set(f, protoreflect.ValueOfString(Hidden))
	default:
		m.Set(f, protoreflect.ValueOfBytes([]byte(Hidden)))
	}
}

// Redact returns m in the text format of protocol buffers on one line, with its
// secrets hidden (HideSecrets). String does the work, so an entry that is not
// written costs nothing. Loggers apply it to every proto message among their
// values.
func Redact(m proto.Message) fmt.Stringer { return redacted{m} }

type redacted struct{ m proto.Message }

func (r redacted) String() string {
	if r.m == nil || !r.m.ProtoReflect().IsValid() {
		return "<nil>"
	}
	m, _ := HideSecrets(r.m)
	return prototext.MarshalOptions{Multiline: false, AllowPartial: true}.Format(m)
}

func redactable(value any) (fmt.Stringer, bool) {
	m, ok := value.(proto.Message)
	if !ok {
		return nil, false
	}
	return Redact(m), true
}
