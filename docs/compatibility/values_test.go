package compatibility

import (
	"encoding/json"
	"net/http"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	ligato "github.com/tenuto-dev/tenuto/proto"
)

// TestValuesDecodeStrictly decodes the values in all answers over HTTP into messages with the schema of the
// predecessor, which refuse unknown fields. A configuration of the predecessor must not be answered with fields
// that the predecessor lacks.
func TestValuesDecodeStrictly(t *testing.T) {
	t.Parallel()
	plugins := startAgent(t)
	decoded := map[string]bool{}
	for _, e := range exchanges(t) {
		if e.Method != http.MethodGet {
			continue
		}
		_, _, body := request(t, plugins, e.Method, e.Path, e.Body)
		var answer any
		if json.Unmarshal([]byte(body), &answer) != nil {
			continue // is no JSON
		}
		eachValue(answer, func(name string, data json.RawMessage) {
			d, err := ligato.Former.FindDescriptorByName(protoreflect.FullName(name))
			if err != nil {
				t.Errorf("%s: %s: %v", e, name, err)
				return
			}
			m := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
			if err := protojson.Unmarshal(data, m); err != nil {
				t.Errorf("%s: %s: %v\n%s", e, name, err, data)
			}
			decoded[name] = true
		})
	}
	if len(decoded) < 10 {
		t.Errorf("found values of the types %v, expected 10 types or more", decoded)
	}
}

// eachValue calls visit for each value in an answer.
func eachValue(answer any, visit func(name string, data json.RawMessage)) {
	switch v := answer.(type) {
	case []any:
		for _, e := range v {
			eachValue(e, visit)
		}
	case map[string]any:
		if name, ok := v["ProtoMsgName"].(string); ok {
			if data, err := json.Marshal(v["ProtoMsgData"]); err == nil {
				visit(name, data)
			}
			return
		}
		for _, e := range v {
			eachValue(e, visit)
		}
	}
}
