package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// keptItem is the persistent form of an item.
type keptItem struct {
	Key      string            `json:"key,omitempty"` // only if the record's key does not contain it
	Type     string            `json:"type,omitempty"`
	Value    []byte            `json:"value,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Location string            `json:"location,omitempty"`
}

func keep(kv KeyVal) (keptItem, error) {
	it := keptItem{Labels: kv.Labels, Location: kv.Location.Text(kv.Key)}
	if kv.Val == nil {
		return it, nil
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(kv.Val)
	if err != nil {
		return it, fmt.Errorf("key %s: %w", kv.Key, err)
	}
	it.Type, it.Value = string(kv.Val.ProtoReflect().Descriptor().FullName()), wire
	return it, nil
}

func (it *keptItem) item(key string) (KeyVal, error) {
	kv := KeyVal{Key: key, Labels: it.Labels, Location: location(it.Location)}
	if it.Type == "" {
		return kv, nil
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(it.Type))
	if err != nil {
		return kv, fmt.Errorf("key %s: type %s: %w", key, it.Type, err)
	}
	kv.Val = mt.New().Interface()
	if err := proto.Unmarshal(it.Value, kv.Val); err != nil {
		return kv, fmt.Errorf("key %s: %w", key, err)
	}
	return kv, nil
}

// location reads what kv.Location.Text wrote.
func location(text string) kv.Location {
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		if line, err := strconv.ParseInt(text[i+1:], 10, 32); err == nil && line > 0 {
			return kv.At(text[:i]).Line(int(line))
		}
	}
	return kv.At(text)
}

// The fields of an encoded item, in the wire format of protocol buffers. Labels are
// repeated: a name, followed by its value.
const (
	itemType protowire.Number = 1 + iota
	itemValue
	itemLabel
	itemLocation
)

// itemFormat is the first byte of an encoded item. Earlier versions wrote JSON
// objects, which begin with a brace.
const itemFormat = 1

func encodeItem(kv KeyVal) ([]byte, error) {
	it, err := keep(kv)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 16+len(it.Type)+len(it.Value)+len(it.Location))
	b = append(b, itemFormat)
	field := func(number protowire.Number, data string) {
		if data != "" || number == itemLabel {
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), data)
		}
	}
	field(itemType, it.Type)
	field(itemValue, string(it.Value))
	for name, value := range it.Labels {
		field(itemLabel, name)
		field(itemLabel, value)
	}
	field(itemLocation, it.Location)
	return b, nil
}

var errItem = errors.New("the stored item is damaged")

// decodeItem decodes the format of encodeItem and the formats of earlier
// versions.
func decodeItem(data []byte) (it keptItem, err error) {
	if len(data) == 0 || data[0] != itemFormat {
		return it, json.Unmarshal(data, &it)
	}
	var labels []string
	for data = data[1:]; len(data) > 0; {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 || kind != protowire.BytesType {
			return it, errItem
		}
		field, m := protowire.ConsumeBytes(data[n:])
		if m < 0 {
			return it, errItem
		}
		data = data[n+m:]
		switch number {
		case itemType:
			it.Type = string(field)
		case itemValue:
			it.Value = field
		case itemLabel:
			labels = append(labels, string(field))
		case itemLocation:
			it.Location = string(field)
		}
	}
	if len(labels)%2 != 0 {
		return it, errItem
	}
	for i := 0; i < len(labels); i += 2 {
		if it.Labels == nil {
			it.Labels = map[string]string{}
		}
		it.Labels[labels[i]] = labels[i+1]
	}
	return it, nil
}
