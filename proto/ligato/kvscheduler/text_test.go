package kvscheduler_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func TestEnumsAreNamesInJSON(t *testing.T) {
	t.Parallel()
	type names struct {
		State     kvscheduler.ValueState
		Operation kvscheduler.TxnOperation
	}
	want := names{kvscheduler.ValueState_PENDING, kvscheduler.TxnOperation_UPDATE}
	text, err := json.Marshal(want)
	if err != nil || string(text) != `{"State":"PENDING","Operation":"UPDATE"}` {
		t.Errorf("%s, %v", text, err)
	}
	for _, text := range []string{string(text), `{"State":"7","Operation":"3"}`} {
		var got names
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var got names
	if err := json.Unmarshal([]byte(`{"State":"BROKEN"}`), &got); err == nil || !strings.Contains(err.Error(), `"BROKEN": expected a state as in CONFIGURED`) {
		t.Errorf("unknown state: %v", err)
	}
}
