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
// protobuf encoding, which tell themselves apart.
type Encoded []byte

// Decode reads the message. Field names that it does not have are errors.
//
// A protobuf encoding never begins with '{', which would be the start of a
// group, gone since proto3. It may begin with white space (a newline is the
// first field, if that has a length), so what looks like JSON but is not is
// tried as protobuf.
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

// quoted are errors that repeat a value: that of a field, or what is no JSON.
var quoted = regexp.MustCompile(`(?s)(.*)(invalid value for (\w+) field (\w+)|syntax error \(line \d+:\d+\): invalid value):? (.*)`)

// withoutSecret returns the error without a value that may be a secret.
func withoutSecret(err error) error {
	m := quoted.FindStringSubmatch(err.Error())
	if m == nil || m[4] != "" && m[3] != "bytes" && !logging.IsSecretName(m[4]) {
		return err
	}
	return fmt.Errorf("%s%s (which may be a secret, and is not shown)", m[1], m[2])
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

// Expanding is an Encoded in which variables ($NAME, ${NAME}) are replaced
// before it is read as JSON; those that are not set become empty.
type Expanding struct {
	Encoded
	Lookup func(name string) (value string, set bool)
}

// Decode replaces the variables and reads the message.
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

// Encode returns the message as JSON on one line, with the names of the schema,
// the form in which values are published.
func Encode(m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	var compact bytes.Buffer // protojson puts in spaces at random
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return compact.Bytes(), nil
}

// Publish is what the Put of a Writer does on a DB: it stores the message as
// JSON, or removes the key if it is nil. It takes no longer than timeout. A nil DB
// is a disabled one.
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

// Withdraw is what the Delete of a Writer does on a DB.
func Withdraw(ctx context.Context, timeout time.Duration, db DB, key string, opts ...DelOption) (existed bool, err error) {
	if db == nil {
		return false, fmt.Errorf("delete %s: %w", key, ErrDisabled)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	n, err := db.Delete(ctx, key, opts...)
	return n > 0, err
}
