package orchestrator

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// A plan from outside is a plan or an error, and what was read of one can be
// shown, and saved again without a difference.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(`{"Source":"grpc","Items":[{"Key":"a","Value":{"ProtoMsgName":"ligato.vpp.interfaces.Interface","ProtoMsgData":"name:\"a\""},"Origin":1}],"Changes":{"Values":[],"Operations":[]}}`))
	f.Add([]byte(`{"Changes":{"Values":[{"Key":"k"}],"Operations":[{"Key":"k","Operation":1}]}}`))
	f.Add([]byte(`{"Left":[null],"Items":[null],"Changes":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var plan Plan
		if err := api.OpenPlan(body, &plan); err == nil { // with a sum made by chance
			t.Log("opened without a seal of ours")
		}
		if !json.Valid(body) {
			return
		}
		text, err := api.SealPlan(json.RawMessage(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := api.OpenPlan(text, &plan); err != nil || plan.Changes == nil {
			return
		}
		if _, err := api.SealPlan(plan.HideSecrets()); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

// What was kept of items is an item or an error.
func FuzzKeptItem(f *testing.F) {
	f.Add("a", []byte(`{"type":"ligato.vpp.interfaces.Interface","value":"CgFh"}`))
	f.Add("a", []byte(`{"type":"x"}`))
	f.Add("", []byte(`null`))
	f.Add("a", []byte("\x01\x0a\x1fligato.vpp.interfaces.Interface\x12\x03\x0a\x01a\x1a\x01l\x1a\x01v\x22\x06a.yaml"))
	f.Fuzz(func(t *testing.T, key string, data []byte) {
		it, err := decodeItem(data)
		if err != nil {
			return
		}
		kv, err := it.item(key)
		if err != nil {
			return
		}
		encoded, err := encodeItem(kv)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeItem(encoded)
		if err != nil || again.Type != it.Type || !maps.Equal(again.Labels, it.Labels) || again.Location != it.Location {
			t.Errorf("%+v is kept as %+v, %v", it, again, err)
		}
	})
}
