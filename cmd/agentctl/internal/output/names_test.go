package output

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLowerCamel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"SeqNum": "seqNum", "last_change": "lastChange", "APIVersion": "apiVersion", "OSType": "osType", "PID": "pid", "Key": "key",
		"OS": "os", "IPAddresses": "ipAddresses", "SwIfIndex": "swIfIndex", "lastChange": "lastChange", "X": "x", "TAPHostIfName": "tapHostIfName",
		"value-state": "value-state", "config/vpp/A": "config/vpp/A", "": "", "-/+": "-/+", "a__b": "a__b",
	} {
		if got := lowerCamel(name); got != want {
			t.Errorf("%q becomes %q, expected %q", name, got, want)
		}
	}
}

// Names are changed in the order of the text, but not in what users name.
func TestRenamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"Z":{"SeqNum":1,"a_name":[{"B":null},"C",[]]},"A":"\"B\":"}`:                `{"z":{"seqNum":1,"aName":[{"b":null},"C",[]]},"a":"\"B\":"}`,
		`[{"ProtoMsgName":"X","ProtoMsgData":{"Field_a":1}},{"labels":{"Team":"a"}}]`: `[{"protoMsgName":"X","protoMsgData":{"Field_a":1}},{"labels":{"Team":"a"}}]`,
		`{"Origin":1,"Forced":{"Key":["Mtu"]}}`:                                       `{"origin":"from-NB","forced":{"Key":["Mtu"]}}`,
		`{}`:                                                                          `{}`, `[]`: `[]`, `null`: `null`, `"A"`: `"A"`, `1.50`: `1.50`, `{"N":12345678901234567890}`: `{"n":12345678901234567890}`,
	} {
		if got := renamed(json.RawMessage(text)); string(got) != want {
			t.Errorf("%s becomes %s, expected %s", text, got, want)
		}
	}
}

// JSON is for people, too: it has no escape sequences of HTML.
func TestJSONIsReadable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := WriteJSON(&b, map[string]any{"text": "<a> & b", "raw": json.RawMessage(`{"x":"<y>"}`)})
	if want := "{\n  \"raw\": {\n    \"x\": \"<y>\"\n  },\n  \"text\": \"<a> & b\"\n}\n"; err != nil || b.String() != want {
		t.Errorf("%s (%v), expected %s", b.String(), err, want)
	}
}
