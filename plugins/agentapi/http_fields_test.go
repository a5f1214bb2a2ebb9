package agentapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// violations sends a request over HTTP that is invalid, and returns the text of the status and
// its violations, as "field: description" lines.
func violations(t *testing.T, url, call, body string) (text string, lines []string) {
	t.Helper()
	resp, err := http.Post(url+"/tenuto.v1.AgentService/"+call, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var st spb.Status
	if err := protojson.Unmarshal(data, &st); err != nil || resp.StatusCode != http.StatusBadRequest || codes.Code(st.Code) != codes.InvalidArgument {
		t.Fatalf("%s %.200s: status %d, %v: %s", call, body, resp.StatusCode, err, data)
	}
	for _, d := range status.FromProto(&st).Details() {
		for _, v := range d.(*errdetails.BadRequest).FieldViolations {
			lines = append(lines, v.Field+": "+v.Description)
		}
	}
	return st.Message, lines
}

// Each wrong field of a request in JSON is a violation with its path.
func TestWrongFieldsOverHTTP(t *testing.T) {
	t.Parallel()
	w := start(t)
	const item = `{"value": {"@type": "type.googleapis.com/ligato.vpp.interfaces.Interface", FIELDS}}`
	items := func(fields ...string) string {
		var all []string
		for _, f := range fields {
			all = append(all, strings.Replace(item, "FIELDS", f, 1))
		}
		return `{"change": {"items": [` + strings.Join(all, ", ") + `]}}`
	}
	for _, test := range []struct {
		call, body string
		want       []string // parts of the violations
	}{
		{"Explain", `{"kee": "x"}`, []string{"kee: unknown field of tenuto.v1.ExplainRequest; did you mean key?"}},
		{"ListOrphans", `{"now": true}`, []string{"now: unknown field of tenuto.v1.ListOrphansRequest, which has no fields"}},
		{"Watch", `{"since": 17}`, []string{"since: expected a string"}},
		{"Watch", `{"since": "yesterday"}`, []string{`since: revision "yesterday": expected one that`}},
		{"ListTransactions", `{"sequenceNumber": -1}`, []string{"sequence_number: expected an integer of 64 bits, not negative"}},
		{"Apply", `{"confirm_timeout": "soon", "verfy": true, "wait": "yes", "change": {"item": [], "replace": null}}`, []string{
			"change.item: unknown field of tenuto.v1.Change; did you mean items?", `confirm_timeout: expected a duration in seconds, such as "90s"`,
			"verfy: unknown field of tenuto.v1.ApplyRequest; did you mean verify?", "wait: expected true or false",
		}},
		{"Plan", `{"change": {"items": {}, "remove": ["a", 7, "b"]}}`, []string{"change.items: expected a list", "change.remove[1]: expected a string"}},
		{"Plan", `{"change": {"items": [null, 1, {"value": {}}, {"value": {"name": "x"}}]}}`, []string{
			"change.items[0]: expected an object, a tenuto.v1.Item", "change.items[1]: expected an object", `change.items[3].value: expected "@type"`,
		}},
		{"Apply", items(`"name": "a"`, `"name": "b", "mtuu": 9000, "ip_adresses": []`, `"name": "c", "mtu": -1, "type": "LOOPBACK", "memif": {"Mode": 1, "secret": 12345}`), []string{
			"change.items[1].value.ip_adresses: unknown field of ligato.vpp.interfaces.Interface; did you mean ipAddresses?",
			"change.items[1].value.mtuu: unknown field of ligato.vpp.interfaces.Interface; did you mean mtu?",
			"change.items[2].value.memif.Mode: unknown field of ligato.vpp.interfaces.MemifLink; did you mean mode?",
			"change.items[2].value.memif.secret: expected a string",
			"change.items[2].value.mtu: expected an integer from 0 to 4294967295",
			"change.items[2].value.type: unknown value LOOPBACK",
		}},
		{"Apply", items(`"name": "a", "type": "DPKD"`, `"name": "b", "ipAddresses": ["10.0.0.1/8", {}]`, `"name": "c", "name": "d"`), []string{
			"change.items[0].value.type: unknown value DPKD; did you mean DPDK?", "change.items[1].value.ip_addresses[1]: expected a string", "change.items[2].value: ",
		}},
		{"Apply", `{"change": {"items": [{"value": {"@type": "type.googleapis.com/google.protobuf.Duration", "value": 1}}, {"value": {"@type": "ligato.vpp.interfaces.Interfaces"}}]}}`, []string{
			"change.items[0].value: ", `change.items[1].value: no model has the message "ligato.vpp.interfaces.Interfaces"; did you mean ligato.vpp.interfaces.Interface?`,
		}},
		{"Plan", `{"change": {"items": [`, []string{"body: expected a tenuto.v1.PlanRequest as JSON: "}},
		{"Plan", `key: x`, []string{"body: expected a tenuto.v1.PlanRequest as JSON: syntax error (line 1:1)"}},
		{"Plan", `[]`, []string{"body: expected an object, a tenuto.v1.PlanRequest"}},
		{"Explain", `{"key": "a", "key": "b"}`, []string{"body: "}},
	} {
		text, got := violations(t, w.url, test.call, test.body)
		right := len(got) == len(test.want)
		for i := range min(len(got), len(test.want)) {
			right = right && strings.HasPrefix(got[i], test.want[i])
		}
		if !right || strings.Contains(text, "12345") {
			t.Errorf("%s %s: %s\nviolations %q\nexpected   %q", test.call, test.body, text, got, test.want)
		}
		if change := test.call == "Plan" || test.call == "Apply" || test.call == "Confirm"; strings.HasPrefix(text, "nothing was changed: ") != change {
			t.Errorf("%s: %s", test.call, text)
		}
	}
	if w.SB.Get(key("a")) != nil {
		t.Error("an item of a rejected request is in effect")
	}
}

// A wrong field among very many items is found as well.
func TestWrongFieldAmongMany(t *testing.T) {
	t.Parallel()
	w := start(t)
	var change struct {
		Change struct {
			Items []map[string]any `json:"items"`
		} `json:"change"`
	}
	for i := range 20_000 {
		value := map[string]any{"@type": "type.googleapis.com/ligato.vpp.interfaces.Interface", "name": "a"}
		if i == 19_998 {
			value["mtuu"] = 1
		}
		change.Change.Items = append(change.Change.Items, map[string]any{"value": value})
	}
	body, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	if _, got := violations(t, w.url, "Apply", string(body)); len(got) != 1 || !strings.HasPrefix(got[0], "change.items[19998].value.mtuu: unknown field") {
		t.Errorf("violations %q", got)
	}
}
