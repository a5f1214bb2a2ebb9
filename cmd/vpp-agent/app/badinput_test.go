package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestBadInput sends what is wrong: each mistake is named, and nothing of the request takes
// effect.
func TestBadInput(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	h := newHouse(t, "", "--simulate")
	h.start(t)
	const good = "vppConfig:\n  interfaces:\n  - {name: good, type: SOFTWARE_LOOPBACK}\n"
	item := func(key, value string) string { return "data:\n- {key: " + key + ", value: " + value + "}\n" }
	for _, bad := range []struct{ text, want string }{
		{"vppConfig:\n  interfacess: []\n", "unknown field; did you mean interfaces?"},
		{good + "    mtuu: 1\n", "malformed YAML"},
		{good + "  - {name: b, mtuu: 1}\n", "unknown field of Interface; did you mean mtu?"},
		{item("config/vpp/v9/interfaces/a", "{name: a}"), "no model has the key config/vpp/v9/interfaces/a; did you mean"},
		{item("config/vpp/v2/interfaces/a", "{name: b}"), "config/vpp/v2/interfaces/b"},
		{good + "  - {name: good, mtu: 1500}\n", "second value for key config/vpp/v2/interfaces/good, the first is in line 3"},
		{"vppConfig:\n\tinterfaces: []\n", "the line is indented by a tab"},
		{good + "  - {name: c, mtu: many}\n  - {name: d, type: NONE}\n", "mtu"},
		{"x: " + strings.Repeat("0123456789", 5<<20), "unknown field"}, // 50 MiB
	} {
		body := h.send(t, http.MethodPut, "/configuration", bad.text, http.StatusBadRequest)
		var all []map[string]any
		if err := json.Unmarshal([]byte(body), &all); err != nil || len(all) == 0 || !strings.Contains(body, bad.want) {
			t.Errorf("%.80q: %.500s (%v), expected %q", bad.text, body, err, bad.want)
		}
		if len(body) > 10<<10 {
			t.Errorf("%.80q: an answer of %d bytes", bad.text, len(body))
		}
	}
	if _, values := h.get(t, "/scheduler/status"); strings.Contains(values, "interfaces/good") {
		t.Errorf("a refused request took effect: %s", values)
	}
	// The same size is no mistake.
	large := good + strings.Repeat("# "+strings.Repeat("x", 97)+"\n", 50<<20/100)
	if body := h.send(t, http.MethodPut, "/configuration?wait=1m", large, http.StatusOK); !strings.Contains(body, "1 of 1 in effect") {
		t.Errorf("50 MiB: %s", body)
	}
}

// TestTwoWriters lets two clients plan changes of the same item: the one that is applied second
// was planned for a state that is no more.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", "--simulate")
	h.start(t)
	h.awaitReadiness(t, http.StatusOK, "")
	planned := func(mtu string) (document, query string) {
		document = "vppConfig:\n  interfaces:\n  - {name: a, type: SOFTWARE_LOOPBACK, mtu: " + mtu + "}\n"
		var plan struct{ Plan struct{ Fingerprint string } }
		if err := json.Unmarshal([]byte(h.send(t, http.MethodPost, "/scheduler/plan?limit=10", document, http.StatusOK)), &plan); err != nil || plan.Plan.Fingerprint == "" {
			t.Fatalf("plan without a fingerprint: %v, %v", err, plan)
		}
		return document, "?fingerprint=" + plan.Plan.Fingerprint
	}
	first, ofFirst := planned("1400")
	second, ofSecond := planned("1500")
	h.send(t, http.MethodPost, "/scheduler/apply"+ofFirst, first, http.StatusOK)
	if body := h.send(t, http.MethodPost, "/scheduler/apply"+ofSecond, second, http.StatusConflict); !strings.Contains(body, "plan") {
		t.Errorf("the second change: %s", body)
	}
	if _, body := h.get(t, "/configuration"); !strings.Contains(body, "mtu: 1400") {
		t.Errorf("configuration %s", body)
	}
}
