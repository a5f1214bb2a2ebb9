package ifplugin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The last hour has a gap, and neither a peak nor a negative rate, where counters began again, where an interface was
// created again and where the kernel could not be read.
func TestHistory(t *testing.T) {
	t.Parallel()
	p := NewPlugin(SampleEvery(10 * time.Second))
	begin := time.Unix(1_000_000, 0)
	type reading struct {
		index   int
		packets uint64
		err     error
	}
	for i, c := range []reading{
		{1, 1_000_000, nil}, {1, 1_000_100, nil}, {1, 5, nil}, {1, 205, nil}, // the counters began again
		{2, 1_000_000, nil}, {2, 1_000_010, nil}, // the interface was created again
		{2, 0, errors.New("no permission")}, {2, 5_000_000, nil}, {2, 5_000_030, nil},
	} {
		now := &counted{at: begin.Add(time.Duration(10*i) * time.Second), err: c.err, interfaces: map[string]InterfaceCounters{}}
		if c.err == nil {
			now.interfaces["a/b"] = InterfaceCounters{Name: "a/b", Index: c.index, RXPackets: c.packets, RXBytes: 100 * c.packets, TXDropped: c.packets}
		}
		if p.history.add(now); c.err != nil {
			if out := p.history.response(nil); out.Up || out.Reason != "no permission" {
				t.Errorf("after a failure: up %t, %q", out.Up, out.Reason)
			}
		}
	}
	w := httptest.NewRecorder()
	p.serveHistory(w, httptest.NewRequest(http.MethodGet, "/linux/history?interface=a%2Fb&interface=unknown", nil))
	var out struct {
		Up     bool
		Until  time.Time
		Every  float64
		Series []struct {
			Interface, Name string
			Values          json.RawMessage
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || len(out.Series) != 6 || !out.Up || out.Every != 10 || !out.Until.Equal(begin.Add(80*time.Second)) {
		t.Fatalf("%v %s", err, w.Body)
	}
	want := map[string]string{
		"rxPackets": "[null,10,null,20,null,1,null,null,3]", "rxBits": "[null,8000,null,16000,null,800,null,null,2400]",
		"txPackets": "[null,0,null,0,null,0,null,null,0]", "drops": "[null,10,null,20,null,1,null,null,3]",
	}
	for _, s := range out.Series {
		got := strings.Join(strings.Fields(string(s.Values)), "")
		if w := want[s.Name]; s.Interface != "a/b" || w != "" && got != w {
			t.Errorf("%s %s: %s, expected %s", s.Interface, s.Name, got, w)
		}
	}
	w = httptest.NewRecorder()
	p.serveHistory(w, httptest.NewRequest(http.MethodGet, "/linux/history?interface=a"+strings.Repeat("&interface=a", 100), nil))
	if w.Code != http.StatusBadRequest {
		t.Errorf("101 names: %d", w.Code)
	}
}
