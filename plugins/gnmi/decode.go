package gnmi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// toJSON returns a value as JSON. node is the message that it must be if it is in protobuf; nil
// for scalars.
func toJSON(val *gpb.TypedValue, node protoreflect.MessageDescriptor) ([]byte, error) {
	switch v := val.GetValue().(type) {
	case nil:
		return nil, errors.New("expected a value in val")
	case *gpb.TypedValue_JsonVal:
		return v.JsonVal, nil
	case *gpb.TypedValue_JsonIetfVal:
		return v.JsonIetfVal, nil
	case *gpb.TypedValue_StringVal:
		return json.Marshal(v.StringVal)
	case *gpb.TypedValue_BytesVal:
		return json.Marshal(v.BytesVal)
	case *gpb.TypedValue_IntVal:
		return strconv.AppendInt(nil, v.IntVal, 10), nil
	case *gpb.TypedValue_UintVal:
		return strconv.AppendUint(nil, v.UintVal, 10), nil
	case *gpb.TypedValue_BoolVal:
		return strconv.AppendBool(nil, v.BoolVal), nil
	case *gpb.TypedValue_DoubleVal:
		return json.Marshal(v.DoubleVal)
	case *gpb.TypedValue_LeaflistVal:
		return listJSON(v.LeaflistVal.GetElement(), node)
	case *gpb.TypedValue_AnyVal:
		m, err := v.AnyVal.UnmarshalNew()
		if err != nil {
			return nil, fmt.Errorf("any_val: %w", err)
		}
		return messageJSON(m, node)
	case *gpb.TypedValue_ProtoBytes:
		return bytesJSON(v.ProtoBytes, node)
	}
	field := val.ProtoReflect().WhichOneof(val.ProtoReflect().Descriptor().Oneofs().ByName("value"))
	return nil, fmt.Errorf("%s is not supported: expected json_val, json_ietf_val, any_val, proto_bytes, leaflist_val, or one of string_val, int_val, uint_val, bool_val, bytes_val, double_val", field.Name())
}

func listJSON(elements []*gpb.TypedValue, node protoreflect.MessageDescriptor) ([]byte, error) {
	list := make([]json.RawMessage, len(elements))
	for i, e := range elements {
		var err error
		if list[i], err = toJSON(e, node); err != nil {
			return nil, fmt.Errorf("element[%d]: %w", i, err)
		}
	}
	return json.Marshal(list)
}

func messageJSON(m proto.Message, node protoreflect.MessageDescriptor) ([]byte, error) {
	if node == nil || m.ProtoReflect().Descriptor().FullName() != node.FullName() {
		return nil, fmt.Errorf("the message is a %s: expected %s", m.ProtoReflect().Descriptor().FullName(), nodeText(node))
	}
	return protojson.Marshal(m)
}

func bytesJSON(wire []byte, node protoreflect.MessageDescriptor) ([]byte, error) {
	if node == nil {
		return nil, fmt.Errorf("proto_bytes: expected %s", nodeText(node))
	}
	m := dynamicpb.NewMessage(node)
	if err := proto.Unmarshal(wire, m); err != nil {
		return nil, fmt.Errorf("proto_bytes: %w", err)
	}
	return protojson.Marshal(m)
}

func nodeText(node protoreflect.MessageDescriptor) string {
	if node == nil {
		return "a scalar, or JSON"
	}
	return string(node.FullName())
}
