package api

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
)

// JSONValue is a message in JSON together with the name of its type:
// {"ProtoMsgName": "ligato.vpp.l2.FIBEntry", "ProtoMsgData": {...}}. Secrets
// are written as they are. A message that cannot be written (its text is not
// UTF-8) has the data {"error": "..."}.
type JSONValue struct{ proto.Message }

// NewJSONValue returns nil for a nil message.
func NewJSONValue(m proto.Message) *JSONValue {
	if m == nil {
		return nil
	}
	return &JSONValue{m}
}

type jsonValue struct {
	ProtoMsgName string
	ProtoMsgData json.RawMessage
}

// MarshalJSON writes the name and the message.
func (v JSONValue) MarshalJSON() ([]byte, error) {
	if v.Message == nil {
		return []byte("null"), nil
	}
	name := v.ProtoReflect().Descriptor().FullName()
	data, err := protojson.MarshalOptions{AllowPartial: true}.Marshal(v.Message)
	if err != nil {
		// Text that is not UTF-8, most likely. One bad value must not make a whole
		// list unreadable.
		if data, err = json.Marshal(map[string]string{"error": err.Error()}); err != nil {
			return nil, err
		}
	}
	return json.Marshal(jsonValue{string(name), data})
}

// UnmarshalJSON reads what MarshalJSON wrote. A message of a type that is not
// linked into the program becomes a google.protobuf.Struct.
func (v *JSONValue) UnmarshalJSON(data []byte) error {
	var j jsonValue
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	v.Message = &structpb.Struct{}
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(j.ProtoMsgName))
	switch {
	case err == nil:
		v.Message = typ.New().Interface()
	case !errors.Is(err, protoregistry.NotFound):
		return err
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(j.ProtoMsgData, v.Message); err != nil {
		return fmt.Errorf("read %s from JSON: %w", j.ProtoMsgName, err)
	}
	return nil
}
