package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// The JSON of the API: field names and their order are those that clients know, and
// what was written is read again.
func TestJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	item := api.JSONValue{Message: &model.Item{Value: 7}}
	zero := uint64(0)
	const value = `{"ProtoMsgName":"tenuto.kvstest.Item","ProtoMsgData":{"value":"7"}}`
	for _, c := range []struct {
		data any
		into any
		want string
	}{
		{api.Orphan{Key: "k", Descriptor: "d"}, new(api.Orphan), `{"Key":"k","Descriptor":"d","Ours":false}`},
		{api.Orphan{Key: "k", Descriptor: "d", Ours: true, Value: item, Txn: &zero, Since: at, Problem: "p", Unread: true}, new(api.Orphan),
			`{"Key":"k","Descriptor":"d","Ours":true,"Value":` + value + `,"Txn":0,"Since":"2026-11-21T00:00:00Z","Problem":"p","Unread":true}`},
		{api.Drift{Key: "k", Descriptor: "d", Base: "b", Kind: api.DriftDiffers, Believed: item, Found: item, Fields: []api.FieldDiff{{Field: "f", Found: "1"}}}, new(api.Drift),
			`{"Key":"k","Descriptor":"d","Base":"b","Kind":"differs","Believed":` + value + `,"Found":` + value + `,"Fields":[{"Field":"f","Found":"1"}]}`},
		{response.Drift{DriftReport: api.DriftReport{Start: at, Stop: at, Repairs: []uint64{3}}, Errors: []string{"e"}}, new(response.Drift),
			`{"Start":"2026-11-21T00:00:00Z","Stop":"2026-11-21T00:00:00Z","Values":0,"Repairs":[3],"Errors":["e"]}`},
		{api.RecordedKVPair{Key: "k", Origin: api.FromNB}, new(api.RecordedKVPair), `{"Key":"k","Value":null,"Origin":1}`},
		{api.UnmetValue{Key: "k", State: pb.ValueState_FAILED, Reason: "r", Final: true}, new(api.UnmetValue),
			`{"key":"k","state":"FAILED","reason":"r","final":true}`},
		{response.Wait{Revision: api.StatusRevision{Incarnation: 1, Number: 2}}, new(response.Wait), `{"revision":"0000000000000001-2"}`},
		{api.Seconds(1500 * time.Millisecond), new(api.Seconds), `1.5`},
	} {
		text, err := json.Marshal(c.data)
		if err != nil || string(text) != c.want {
			t.Errorf("%#v is %s, %v; want %s", c.data, text, err, c.want)
		}
		if err := json.Unmarshal(text, c.into); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if again, err := json.Marshal(c.into); err != nil || string(again) != c.want {
			t.Errorf("read and written again it is %s, %v; want %s", again, err, c.want)
		}
	}
}

// A message of an unknown type is readable, one of a wrong form is an error.
func TestJSONValue(t *testing.T) {
	t.Parallel()
	var v api.JSONValue
	if err := json.Unmarshal([]byte(`{"ProtoMsgName":"a.b.Unknown","ProtoMsgData":{"x":1}}`), &v); err != nil ||
		v.Message.ProtoReflect().Descriptor().FullName() != "google.protobuf.Struct" {
		t.Errorf("%v, %v", v, err)
	}
	if err := json.Unmarshal([]byte(`{"ProtoMsgName":"tenuto.kvstest.Item","ProtoMsgData":[]}`), &v); err == nil || !strings.Contains(err.Error(), "kvstest.Item") {
		t.Errorf("error %v", err)
	}
	text, err := json.Marshal(api.JSONValue{Message: &model.Item{Note: "\xff"}})
	if err != nil || !strings.Contains(string(text), `"error"`) {
		t.Errorf("%s, %v", text, err)
	}
}
