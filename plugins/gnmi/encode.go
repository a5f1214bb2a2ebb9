package gnmi

import (
	"bytes"
	"encoding/json"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// update returns a field of a node, or the node itself for no fields. It is nil if the node
// does not have the field: one that distinguishes unset from zero, or that is in a message that is
// not there.
func (n *node) update(fields []protoreflect.FieldDescriptor, enc gpb.Encoding) (*gpb.Update, error) {
	m := n.value.ProtoReflect()
	for i, f := range fields {
		if f.HasPresence() && !m.Has(f) {
			return nil, nil
		}
		if i == len(fields)-1 {
			val, err := encodeField(m, f, enc)
			if err != nil {
				return nil, err
			}
			return &gpb.Update{Path: n.path(fields), Val: val}, nil
		}
		m = m.Get(f).Message()
	}
	val, err := encodeMessage(m, enc)
	return &gpb.Update{Path: n.path(nil), Val: val}, err
}

func jsonValue(text []byte, enc gpb.Encoding) *gpb.TypedValue {
	if enc == gpb.Encoding_JSON_IETF {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: text}}
}

func encodeMessage(m protoreflect.Message, enc gpb.Encoding) (*gpb.TypedValue, error) {
	if enc == gpb.Encoding_PROTO {
		packed, err := anypb.New(m.Interface())
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		return &gpb.TypedValue{Value: &gpb.TypedValue_AnyVal{AnyVal: packed}}, nil
	}
	text, err := marshal(protojson.MarshalOptions{}, m.Interface())
	return jsonValue(text, enc), err
}

// marshal returns JSON without the blanks that protojson varies.
func marshal(o protojson.MarshalOptions, m proto.Message) ([]byte, error) {
	text, err := o.Marshal(m)
	var out bytes.Buffer
	if err == nil {
		err = json.Compact(&out, text)
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return out.Bytes(), nil
}

func encodeField(m protoreflect.Message, f protoreflect.FieldDescriptor, enc gpb.Encoding) (*gpb.TypedValue, error) {
	switch {
	case f.Message() != nil && !f.IsList() && !f.IsMap():
		return encodeMessage(m.Get(f).Message(), enc)
	case enc != gpb.Encoding_PROTO:
		text, err := fieldJSON(m, f)
		return jsonValue(text, enc), err
	case f.IsMap():
		return nil, status.Errorf(codes.Unimplemented, "%s is a map: expected encoding JSON, or the path of its item", f.JSONName())
	case f.IsList():
		array := &gpb.ScalarArray{}
		for i := range m.Get(f).List().Len() {
			e, err := native(f, m.Get(f).List().Get(i))
			if err != nil {
				return nil, err
			}
			array.Element = append(array.Element, e)
		}
		return &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: array}}, nil
	}
	return native(f, m.Get(f))
}

// fieldJSON returns the JSON of a field without its message.
func fieldJSON(m protoreflect.Message, f protoreflect.FieldDescriptor) ([]byte, error) {
	alone := m.New()
	if m.Has(f) {
		alone.Set(f, m.Get(f))
	}
	text, err := marshal(protojson.MarshalOptions{EmitDefaultValues: !m.Has(f)}, alone.Interface())
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return fields[f.JSONName()], nil
}

// native returns a value with the type that gNMI has for it.
func native(f protoreflect.FieldDescriptor, v protoreflect.Value) (*gpb.TypedValue, error) {
	out := &gpb.TypedValue{}
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return encodeMessage(v.Message(), gpb.Encoding_PROTO)
	case protoreflect.BoolKind:
		out.Value = &gpb.TypedValue_BoolVal{BoolVal: v.Bool()}
	case protoreflect.BytesKind:
		out.Value = &gpb.TypedValue_BytesVal{BytesVal: v.Bytes()}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		out.Value = &gpb.TypedValue_DoubleVal{DoubleVal: v.Float()}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		out.Value = &gpb.TypedValue_UintVal{UintVal: v.Uint()}
	case protoreflect.StringKind, protoreflect.EnumKind:
		out.Value = &gpb.TypedValue_StringVal{StringVal: keyText(f, v)}
	default:
		out.Value = &gpb.TypedValue_IntVal{IntVal: v.Int()}
	}
	return out, nil
}
