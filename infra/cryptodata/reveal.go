package cryptodata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// marker is the key of JSON objects that contain encrypted text. It is
// optional, and not part of the value.
const marker = "encrypted"

// Reveal returns a value that decrypts itself when it is decoded. It returns a
// value without encrypted text unchanged.
func (p *Plugin) Reveal(v kv.Value) kv.Value {
	switch v := v.(type) {
	case kv.Encoded:
		if bytes.Contains(v, []byte(Prefix)) {
			return sealed{p, v, func(plain []byte) kv.Value { return kv.Encoded(plain) }}
		}
	case kv.Expanding:
		if bytes.Contains(v.Encoded, []byte(Prefix)) {
			return sealed{p, v.Encoded, func(plain []byte) kv.Value { return kv.Expanding{Encoded: plain, Lookup: v.Lookup} }}
		}
	case kv.Decoded:
		if anySealed(v.Message.ProtoReflect()) {
			return sealedMessage{p, v}
		}
	}
	return v
}

// sealed is a value of a store of bytes.
type sealed struct {
	p     *Plugin
	bytes []byte
	value func(plain []byte) kv.Value
}

// Decode decrypts the value, or the texts in it, and decodes it. Its errors
// never show encrypted content.
func (s sealed) Decode(into proto.Message) error {
	text := bytes.TrimSpace(s.bytes)
	if bytes.HasPrefix(text, []byte(Prefix)) {
		plain, err := s.p.DecryptData(string(text))
		if err != nil {
			return fmt.Errorf("decrypt the value: %w", err)
		}
		if s.value(plain).Decode(into) != nil {
			return fmt.Errorf("the decrypted value is not %s in JSON or protobuf", into.ProtoReflect().Descriptor().FullName())
		}
		return s.p.revealMessage(into)
	}
	plain, err := revealJSON(text, s.p.DecryptData)
	switch {
	case errors.Is(err, errNoJSON):
		if err := s.value(s.bytes).Decode(into); err != nil {
			return err
		}
		return s.p.revealMessage(into)
	case err != nil:
		return err
	}
	if s.value(plain).Decode(into) == nil {
		return nil
	}
	hidden, err := revealJSON(text, func(string) ([]byte, error) { return []byte("(secret)"), nil })
	if err == nil {
		err = s.value(hidden).Decode(into)
	}
	proto.Reset(into)
	if err == nil {
		err = errors.New("a decrypted text does not fit its field")
	}
	return err
}

// sealedMessage is a value of a store that knows the types of its values.
type sealedMessage struct {
	p *Plugin
	kv.Decoded
}

// Decode copies the message and decrypts the texts in it.
func (s sealedMessage) Decode(into proto.Message) error {
	if err := s.Decoded.Decode(into); err != nil {
		return err
	}
	return s.p.revealMessage(into)
}

func (p *Plugin) revealMessage(m proto.Message) error {
	if err := revealFields(m.ProtoReflect(), p.DecryptData); err != nil {
		proto.Reset(m)
		return err
	}
	return nil
}

// errNoJSON is returned for a text that is not a JSON object.
var errNoJSON = errors.New("no JSON")

// revealJSON decrypts the texts in an object in JSON.
func revealJSON(text []byte, decrypt func(string) ([]byte, error)) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil || d.More() {
		return nil, errNoJSON
	}
	if on, ok := object[marker].(bool); ok && on {
		delete(object, marker)
	}
	if err := revealAny(object, "", decrypt); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// revealAny decrypts the texts in an object or a list.
func revealAny(v any, path string, decrypt func(string) ([]byte, error)) error {
	one := func(v any, path string, set func(string)) error {
		text, ok := v.(string)
		if !ok || !strings.HasPrefix(text, Prefix) {
			return revealAny(v, path, decrypt)
		}
		plain, err := decrypt(text)
		if err != nil {
			return fmt.Errorf("%s: decrypt: %w", path, err)
		}
		set(string(plain))
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := one(v[key], strings.TrimPrefix(path+"."+key, "."), func(s string) { v[key] = s }); err != nil {
				return err
			}
		}
	case []any:
		for i := range v {
			if err := one(v[i], fmt.Sprintf("%s[%d]", path, i), func(s string) { v[i] = s }); err != nil {
				return err
			}
		}
	}
	return nil
}

// errFound ends the search of anySealed.
var errFound = errors.New("found")

// anySealed reports whether a message contains encrypted text.
func anySealed(m protoreflect.Message) bool {
	return revealFields(m, func(string) ([]byte, error) { return nil, errFound }) != nil
}

// revealFields decrypts the texts in a message: fields, elements of lists and
// values of maps that are strings or bytes.
func revealFields(m protoreflect.Message, decrypt func(string) ([]byte, error)) (err error) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			v.Map().Range(func(key protoreflect.MapKey, element protoreflect.Value) bool {
				if err = revealOne(fd.MapValue(), element, decrypt, func(s protoreflect.Value) { v.Map().Set(key, s) }); err != nil {
					err = within(fmt.Sprintf("%s[%v]", fd.Name(), key), err)
				}
				return err == nil
			})
		case fd.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				if err = revealOne(fd, v.List().Get(i), decrypt, func(s protoreflect.Value) { v.List().Set(i, s) }); err != nil {
					err = within(fmt.Sprintf("%s[%d]", fd.Name(), i), err)
				}
			}
		default:
			if err = revealOne(fd, v, decrypt, func(s protoreflect.Value) { m.Set(fd, s) }); err != nil {
				err = within(string(fd.Name()), err)
			}
		}
		return err == nil
	})
	return err
}

// fieldError is an error with the path of the field that it is about.
type fieldError struct {
	path  string
	cause error
}

func (e *fieldError) Error() string { return e.path + ": " + e.cause.Error() }
func (e *fieldError) Unwrap() error { return e.cause }

// within adds a field to the start of the path of an error. Paths are made of errors
// only, because most messages have nothing to decrypt.
func within(field string, err error) error {
	if inner, ok := errors.AsType[*fieldError](err); ok {
		return &fieldError{field + "." + inner.path, inner.cause}
	}
	return &fieldError{field, err}
}

func revealOne(fd protoreflect.FieldDescriptor, v protoreflect.Value, decrypt func(string) ([]byte, error), set func(protoreflect.Value)) error {
	text := ""
	switch fd.Kind() {
	case protoreflect.StringKind:
		text = v.String()
	case protoreflect.BytesKind:
		text = string(v.Bytes())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return revealFields(v.Message(), decrypt)
	}
	if !strings.HasPrefix(text, Prefix) {
		return nil
	}
	plain, err := decrypt(text)
	if err != nil {
		return fmt.Errorf("decrypt: %w", err)
	}
	if fd.Kind() == protoreflect.BytesKind {
		set(protoreflect.ValueOfBytes(plain))
		return nil
	}
	set(protoreflect.ValueOfString(string(plain)))
	return nil
}
