package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func TestHideSecrets(t *testing.T) {
	t.Parallel()
	secret := &interfaces.MemifLink{Id: 1, Secret: "geheim"}
	plain := &interfaces.MemifLink{Id: 1}
	pairs := func(m proto.Message) []api.RecordedKVPair { return []api.RecordedKVPair{{Key: "k", Value: m}} }
	ops := func(m proto.Message) []api.RecordedTxnOp {
		return []api.RecordedTxnOp{{Operation: kvscheduler.TxnOperation_CREATE, Key: "k", NewValue: m}, {Operation: kvscheduler.TxnOperation_DELETE, PrevValue: m}}
	}
	for what, build := range map[string]func(proto.Message) (before, after any){
		"transaction": func(m proto.Message) (any, any) {
			txn := &api.RecordedTxn{Values: pairs(m), Planned: ops(m), Executed: ops(m)}
			return txn, txn.HideSecrets()
		},
		"operations": func(m proto.Message) (any, any) {
			txn := &api.RecordedTxn{Values: pairs(plain), Executed: ops(m)}
			return txn, txn.HideSecrets()
		},
		"plan": func(m proto.Message) (any, any) {
			plan := &api.Plan{Values: pairs(m), Operations: ops(m)}
			if shown := plan.HideSecrets(); shown.Hidden != (m == proto.Message(secret)) {
				t.Errorf("the plan is marked %v", shown.Hidden)
			}
			return plan, plan.HideSecrets()
		},
		"drift": func(m proto.Message) (any, any) {
			report := &api.DriftReport{Drifts: []api.Drift{{Key: "k", Believed: api.JSONValue{Message: m}, Found: api.JSONValue{Message: plain}}, {Key: "l", Found: api.JSONValue{Message: m}}}}
			return report, report.HideSecrets()
		},
		"orphan": func(m proto.Message) (any, any) {
			o := api.Orphan{Key: "k", Value: api.JSONValue{Message: m}}
			return o, o.HideSecrets()
		},
		"pair": func(m proto.Message) (any, any) { return pairs(m)[0], pairs(m)[0].HideSecrets() },
	} {
		before, after := build(secret)
		if text := asText(t, after); strings.Contains(text, "geheim") || !strings.Contains(text, "***") {
			t.Errorf("%s: %s", what, text)
		}
		if text := asText(t, before); !strings.Contains(text, "geheim") {
			t.Errorf("%s was changed itself: %s", what, text)
		}
		if before, after := build(plain); asText(t, before) != asText(t, after) {
			t.Errorf("%s without secrets became %s", what, asText(t, after))
		}
	}
	if secret.GetSecret() != "geheim" {
		t.Error("the message was changed")
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), " ", "")
}
