package orchestrator

import (
	"encoding/json"
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
		if _, err := api.SealPlan(plan.hideSecrets()); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

// What was kept of items is an item or an error.
func FuzzKeptItem(f *testing.F) {
	f.Add("a", []byte(`{"type":"ligato.vpp.interfaces.Interface","value":"CgFh"}`))
	f.Add("a", []byte(`{"type":"x"}`))
	f.Add("", []byte(`null`))
	f.Fuzz(func(t *testing.T, key string, data []byte) {
		var it keptItem
		if json.Unmarshal(data, &it) != nil {
			return
		}
		kv, err := it.item(key)
		if err != nil {
			return
		}
		if again, err := keep(kv); err != nil || again.Type != it.Type {
			t.Errorf("%+v is kept as %+v, %v", it, again, err)
		}
	})
}
