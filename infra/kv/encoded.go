package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Encoded is the Value of a store that holds bytes: a message as JSON or in the
// protobuf encoding, which it detects.
type Encoded []byte

// Decode decodes the message. Unknown fields are errors.
//
// A protobuf encoding never begins with '{', which would be the start of a
// group, which proto3 does not have. It may begin with white space (a newline
// is the tag of the first field, if that is length-delimited), so a text that
// looks like JSON but is invalid is decoded as protobuf.
func (e Encoded) Decode(into proto.Message) error {
	text := bytes.TrimSpace(e)
	if !bytes.HasPrefix(text, []byte("{")) {
		return decodeWire(e, into)
	}
	err := protojson.Unmarshal(text, into)
	if err == nil {
		return nil
	}
	if e[0] != '{' && decodeWire(e, into) == nil {
		return nil
	}
	proto.Reset(into)
	return fmt.Errorf("decode JSON: %w", withoutSecret(err))
}

// quoted matches errors that contain the value of a field, or invalid JSON.
var quoted = regexp.MustCompile(`(?s)(.*)(invalid value for (\w+) field (\w+)|syntax error \(line \d+:\d+\): invalid value):? (.*)`)

// withoutSecret returns the error without the value, which may be a secret.
func withoutSecret(err error) error {
	m := quoted.FindStringSubmatch(err.Error())
	if m == nil || m[4] != "" && m[3] != "bytes" && !logging.IsSecretName(m[4]) {
		return err
	}
	return fmt.Errorf("%s%s (hidden: it may be a secret)", m[1], m[2])
}

func decodeWire(data []byte, into proto.Message) error {
	if err := proto.Unmarshal(data, into); err != nil {
		proto.Reset(into)
		return fmt.Errorf("expected JSON or the protobuf encoding of %s: %w", into.ProtoReflect().Descriptor().FullName(), err)
	}
	if len(into.ProtoReflect().GetUnknown()) > 0 {
		proto.Reset(into)
		return fmt.Errorf("expected JSON or the protobuf encoding of %s: it has fields that the message does not have",
			into.ProtoReflect().Descriptor().FullName())
	}
	return nil
}

// Expanding is an Encoded in which environment variables ($NAME, ${NAME}) are
// expanded before it is decoded as JSON. Unset variables expand to nothing.
type Expanding struct {
	Encoded
	Lookup func(name string) (value string, set bool)
}

// Decode expands the variables and decodes the message.
func (e Expanding) Decode(into proto.Message) error {
	if !bytes.HasPrefix(bytes.TrimSpace(e.Encoded), []byte("{")) {
		return e.Encoded.Decode(into)
	}
	text := os.Expand(string(e.Encoded), func(name string) string {
		value, _ := e.Lookup(name)
		return value
	})
	return Encoded(text).Decode(into)
}

// Encode returns the message as JSON on one line with the field names of the
// schema, the format of published values.
func Encode(m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	var compact bytes.Buffer // removes the random spaces of protojson
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return compact.Bytes(), nil
}

// Publish implements Put of a Writer on a DB: it stores the message as JSON, or
// removes the key if it is nil, within the given timeout. A nil DB is disabled.
func Publish(ctx context.Context, timeout time.Duration, db DB, key string, value proto.Message, opts ...PutOption) error {
	if db == nil {
		return fmt.Errorf("put %s: %w", key, ErrDisabled)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if value == nil {
		_, err := db.Delete(ctx, key)
		return err
	}
	text, err := Encode(value)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return db.Put(ctx, key, text, opts...)
}

// Withdraw implements Delete of a Writer on a DB.
func Withdraw(ctx context.Context, timeout time.Duration, db DB, key string, opts ...DelOption) (existed bool, err error) {
	if db == nil {
		return false, fmt.Errorf("delete %s: %w", key, ErrDisabled)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	n, err := db.Delete(ctx, key, opts...)
	return n > 0, err
}
