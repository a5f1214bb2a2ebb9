package restapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/restapi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// many serves a scheduler with two taps, routes/a/0 to 89 on the first of them, and as
// many routes/b that wait for a tap without a value.
func many(t *testing.T) func(url string, into any) (status int, body string) {
	t.Helper()
	sb := kvstest.NewMockSB()
	s, stop := kvstest.NewScheduler(t, kvstest.NewClock())
	t.Cleanup(stop)
	for _, d := range []*api.KVDescriptor{sb.Descriptor("tap", "tap/"), sb.Descriptor("route", "route/")} {
		if err := s.RegisterKVDescriptor(d); err != nil {
			t.Fatal(err)
		}
	}
	txn := s.StartNBTransaction().SetValue("tap/1", &model.Item{}).SetValue("tap/2", &model.Item{})
	for i := range 90 {
		txn.SetValue(fmt.Sprintf("route/a/%02d", i), &model.Item{Deps: []string{"tap/1"}})
		txn.SetValue(fmt.Sprintf("route/b/%02d", i), &model.Item{Deps: []string{"tap/3"}})
	}
	if _, err := txn.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, e := range restapi.Endpoints(restapi.Deps{Scheduler: s.(restapi.Scheduler)}) {
		for _, method := range e.Methods {
			mux.Handle(method+" "+e.Path, e.Handler)
		}
	}
	return func(url string, into any) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/scheduler/"+url, nil))
		if into != nil {
			if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%s: %d %v\n%s", url, w.Code, err, w.Body)
			}
		}
		return w.Code, w.Body.String()
	}
}

func TestSummaryOfGroups(t *testing.T) {
	t.Parallel()
	get := many(t)
	for url, want := range map[string]string{
		"summary?groups=1&limit=0":                "182 map[CONFIGURED:92 PENDING:90] [route route/ 180 map[CONFIGURED:90 PENDING:90]] [tap tap/ 2 map[CONFIGURED:2]]",
		"summary?groups=1&limit=1&contains=B/1":   "10 map[PENDING:10] [route route/ 10 map[PENDING:10]]",
		"summary?groups=1&limit=0&key-prefix=tap": "2 map[CONFIGURED:2] [tap tap/ 2 map[CONFIGURED:2]]",
		"summary?state=pending&limit=0":           "90 map[PENDING:90]",
		"summary?descriptor=tap&descriptor=x":     "2 map[CONFIGURED:2]",
	} {
		var sum response.Summary
		get(url, &sum)
		got := fmt.Sprint(sum.Values, " ", sum.States)
		for _, g := range sum.Groups {
			got += fmt.Sprint(" [", g.Descriptor, " ", g.KeyPrefix, " ", g.Values, " ", g.States, "]")
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
	var sum response.Summary
	if get("summary?groups=1&limit=1&contains=B/1", &sum); len(sum.Troubles) != 1 || sum.Troubles[0].Key != "route/b/10" || sum.Omitted != 9 {
		t.Errorf("the worst value of a filter: %+v, %d omitted", sum.Troubles, sum.Omitted)
	}
}

func TestPagesOfValues(t *testing.T) {
	t.Parallel()
	get := many(t)
	var keys []string
	for after := ""; ; {
		var page []response.ListedStatus
		get("status?limit=50&descriptor=route&state=PENDING&after="+after, &page)
		for _, v := range page {
			keys = append(keys, v.Value.GetKey())
			if v.Descriptor != "route" || v.Owner != "none" || !strings.Contains(v.Reason, "tap/3") || v.Since.IsZero() {
				t.Errorf("got %+v", v)
			}
		}
		if len(page) < 50 {
			break
		}
		after = keys[len(keys)-1]
	}
	if len(keys) != 90 || keys[0] != "route/b/00" || keys[89] != "route/b/89" {
		t.Errorf("got %d keys: %v", len(keys), keys)
	}
	var page []response.ListedStatus
	if get("status?limit=2&after=route/b/89", &page); len(page) != 2 || page[0].Value.GetKey() != "tap/1" || page[0].Owner != "ours" {
		t.Errorf("after the routes: %+v", page)
	}
	if get("status?limit=10&key-prefix=tap/&after=a", &page); len(page) != 2 {
		t.Errorf("with a prefix after the key: %+v", page)
	}
	if get("status?limit=10&key-prefix=route/&after=z", &page); len(page) != 0 {
		t.Errorf("behind the prefix: %+v", page)
	}
}

// shape shows a drawing in a line.
func shape(d api.Drawing) string {
	var parts []string
	for _, n := range d.Nodes {
		if !n.Neighbour {
			parts = append(parts, fmt.Sprintf("%s(%d)", n.ID, n.Values))
		} else {
			parts = append(parts, fmt.Sprintf("%s(%d, neighbour)", n.ID, n.Values))
		}
	}
	for _, e := range d.Edges {
		parts = append(parts, fmt.Sprintf("%s>%s x%d, %d unmet", e.From, e.To, e.Count, e.Unmet))
	}
	return strings.Join(parts, "; ")
}

func TestDrawings(t *testing.T) {
	t.Parallel()
	get := many(t)
	for url, want := range map[string]string{
		"prefix=tap/": "tap/1(1); tap/2(1)",
		"":            "descriptor route(180); descriptor tap(2); missing tap/3(1, neighbour); descriptor route>descriptor tap x90, 0 unmet; descriptor route>missing tap/3 x90, 90 unmet",
		"descriptor=route": "missing tap/3(1, neighbour); prefix route/a/(90); prefix route/b/(90); tap/1(1, neighbour); " +
			"prefix route/a/>tap/1 x90, 0 unmet; prefix route/b/>missing tap/3 x90, 90 unmet",
		"prefix=route/a/0&limit=60&contains=route/a/00": "route/a/00(1); tap/1(1, neighbour); route/a/00>tap/1 x1, 0 unmet",
		"prefix=route/b/&limit=9": "missing tap/3(1, neighbour); prefix route/b/0(10); prefix route/b/1(10); prefix route/b/2(10); prefix route/b/3(10); " +
			"prefix route/b/4(10); prefix route/b/5(10); prefix route/b/6(10); prefix route/b/7(10); prefix route/b/8(10); " +
			"prefix route/b/0>missing tap/3 x10, 10 unmet; prefix route/b/1>missing tap/3 x10, 10 unmet; prefix route/b/2>missing tap/3 x10, 10 unmet; " +
			"prefix route/b/3>missing tap/3 x10, 10 unmet; prefix route/b/4>missing tap/3 x10, 10 unmet; prefix route/b/5>missing tap/3 x10, 10 unmet; " +
			"prefix route/b/6>missing tap/3 x10, 10 unmet; prefix route/b/7>missing tap/3 x10, 10 unmet; prefix route/b/8>missing tap/3 x10, 10 unmet",
		"key=tap/1":      "neighbours route(90, neighbour); tap/1(1); neighbours route>tap/1 x90, 0 unmet",
		"key=route/b/01": "missing tap/3(1, neighbour); route/b/01(1); route/b/01>missing tap/3 x1, 1 unmet",
		"contains=none":  "",
	} {
		var d api.Drawing
		get("graph?format=json&"+url, &d)
		if got := shape(d); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", url, got, want)
		}
	}
	var d api.Drawing
	if get("graph?format=json&descriptor=route&limit=60", &d); d.Values != 180 || !d.Grouped || d.Nodes[1].States["CONFIGURED"] != 90 || d.Nodes[1].Prefix != "route/a/" {
		t.Errorf("got %+v", d)
	}
}

func TestRefusalsOfSelections(t *testing.T) {
	t.Parallel()
	get := many(t)
	for url, want := range map[string]string{
		"summary?state=GOOD":                     `"state" is "GOOD"`,
		"summary?groups=some":                    `"groups" is "some"`,
		"status?contains=x":                      `argument "limit" is missing`,
		"status?state=PENDING":                   `argument "limit" is missing`,
		"status?descriptor=tap&descriptor=route": `"descriptor": expected once`,
		"status?limit=0":                         "expected 1 to 10000",
		"status?limit=10001":                     "expected 1 to 10000",
		"status?limit=1&key=tap/1":               `arguments "key" and "limit"`,
		"status?limit=1&state=x":                 `"state" is "x"`,
		"graph?format=json&limit=0":              "expected 1 to 1000",
		"graph?format=json&limit=1001":           "expected 1 to 1000",
		"graph?format=json&key=a&contains=b":     `argument "key"`,
		"graph?format=json&txn=1":                `arguments "txn"`,
		"graph?format=json&prefix=a&prefix=b":    "several",
		"graph?format=dot&state=PENDING":         `"state": expected only with format=json`,
		"watch?brief=2":                          `"brief" is "2"`,
		"txn-history?limit=x":                    `"limit" is "x"`,
	} {
		if status, body := get(url, nil); status != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), want) {
			t.Errorf("%s: %d %s, want 400 with %s", url, status, body, want)
		}
	}
	if status, body := get("graph?format=json&key=none", nil); status != http.StatusNotFound || !strings.Contains(body, "no such value") {
		t.Errorf("a key without a value: %d %s", status, body)
	}
}

func TestLastTransactions(t *testing.T) {
	t.Parallel()
	get := serve(t, newFake())
	for url, want := range map[string][]uint64{"limit=2": {1, 2}, "limit=0": {}, "limit=9": {0, 1, 2}, "limit=1&brief=1": {2}} {
		var txns []struct{ SeqNum uint64 }
		if err := json.Unmarshal(get("GET", "/scheduler/txn-history?"+url).Body.Bytes(), &txns); err != nil {
			t.Fatal(err)
		}
		got := []uint64{}
		for _, txn := range txns {
			got = append(got, txn.SeqNum)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", url, got, want)
		}
	}
}

// TestBriefWatch checks that a brief watch has neither a snapshot nor values.
func TestBriefWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mux, s, _, stop := live(t)
		set(t, s, "tap/1", &model.Item{})
		pieces := follow(t.Context(), mux, "/scheduler/watch?brief=1")
		synctest.Wait() // the watch has begun
		set(t, s, "tap/2", &model.Item{})
		got := <-pieces
		if !strings.Contains(got, "event: delta") || strings.Contains(got, "tap/") || !strings.Contains(got, `"values":[]`) {
			t.Errorf("got %q", got)
		}
		stop()
		for range pieces {
		}
	})
}
