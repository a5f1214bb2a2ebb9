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
// {"ProtoMsgName": "ligato.vpp.l2.FIBEntry", "ProtoMsgData": {...}}; null
// without a message. Secrets are not hidden. A message that cannot be
// written (its text is not UTF-8) has the data {"error": "..."}.
type JSONValue struct{ Message proto.Message }

// EncodedValue is a JSONValue that was not decoded yet.
type EncodedValue struct {
	ProtoMsgName string
	ProtoMsgData json.RawMessage
	// Unmodeled are settings that the model lacks; see AddUnmodeled.
	Unmodeled []string `json:",omitempty"`
}

// MarshalJSON writes the name and the message.
func (v JSONValue) MarshalJSON() ([]byte, error) {
	e, err := v.Encode()
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// Encode returns the name and the message; nil without a message.
func (v JSONValue) Encode() (*EncodedValue, error) {
	if v.Message == nil {
		return nil, nil
	}
	name := v.Message.ProtoReflect().Descriptor().FullName()
	data, err := protojson.MarshalOptions{AllowPartial: true}.Marshal(v.Message)
	if err != nil {
		// Text that is not UTF-8, most likely. One invalid value must not make a whole
		// list unreadable.
		data, err = json.Marshal(map[string]string{"error": err.Error()})
	}
	return &EncodedValue{string(name), data, Unmodeled(v.Message)}, err
}

// UnmarshalJSON reads the output of MarshalJSON. A message of a type that is
// not linked into the program becomes a google.protobuf.Struct.
func (v *JSONValue) UnmarshalJSON(data []byte) error {
	var e *EncodedValue
	if err := json.Unmarshal(data, &e); err != nil || e == nil {
		return err
	}
	v.Message = &structpb.Struct{}
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(e.ProtoMsgName))
	switch {
	case err == nil:
		v.Message = typ.New().Interface()
	case !errors.Is(err, protoregistry.NotFound):
		return err
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(e.ProtoMsgData, v.Message); err != nil {
		return fmt.Errorf("read %s from JSON: %w", e.ProtoMsgName, err)
	}
	AddUnmodeled(v.Message, e.Unmodeled...)
	return nil
}
