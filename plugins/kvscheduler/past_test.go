package kvscheduler_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/restapi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// then is the graph at some moment: the state and value of every key.
type then struct {
	at     time.Time
	values map[string]string
}

func now(t *testing.T, clock *kvstest.Clock, s api.KVScheduler) then {
	t.Helper()
	g := then{clock.Now(), map[string]string{}}
	for _, n := range s.GraphSnapshot() {
		text := describe(t, n.State.String(), api.JSONValue{Message: n.Value})
		for _, target := range n.Targets {
			if target.Satisfied {
				text += fmt.Sprint(" ", target.Relation, target.Keys)
			} else {
				text += fmt.Sprint(" ", target.Relation, []string{})
			}
		}
		g.values[n.Key] = text
	}
	return g
}

func describe(t *testing.T, state string, value api.JSONValue) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var compact any // the order and spacing of protojson are not stable
	if err := json.Unmarshal(data, &compact); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(state, " ", compact)
}

// A graph snapshot of the past equals what was then; the history is found by
// number and by time.
func TestThePast(t *testing.T) {
	t.Parallel()
	clock, sb := kvstest.NewClock(), kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, clock)
	if err := s.RegisterKVDescriptor(
		sb.Descriptor("tap", "tap/", kvstest.WithMetadata()), sb.Descriptor("route", "route/"),
		sb.Descriptor("piece", "piece/", kvstest.Derived()), sb.Descriptor("link", "link/", kvstest.Obtained()),
	); err != nil {
		t.Fatal(err)
	}
	route := &model.Item{Deps: []string{"piece/1"}, AnyOf: []string{"link/"}}
	with := &model.Item{Value: 1, Derived: []*model.Derived{{Key: "piece/1"}}}
	moments := []then{now(t, clock, s)}
	for _, step := range []func() error{
		func() error { return commit(t, s, map[string]*model.Item{"route/1": route}) },
		func() error { return s.PushSBNotification(api.KVWithMetadata{Key: "link/1", Value: &model.Item{}}) },
		func() error { return commit(t, s, map[string]*model.Item{"tap/1": with}) },
		func() error { return commit(t, s, map[string]*model.Item{"tap/1": {Value: 2}, "tap/2": {Value: 5}}) },
		func() error {
			return commit(t, s, map[string]*model.Item{"tap/1": with, "tap/2": {Value: 6, Recreate: true}})
		},
		func() error { return s.PushSBNotification(api.KVWithMetadata{Key: "link/1"}) },
		func() error { return commit(t, s, map[string]*model.Item{"route/1": nil, "tap/1": nil}) },
	} {
		clock.Advance(time.Minute, nil)
		if err := step(); err != nil {
			t.Fatal(err)
		}
		s.TransactionBarrier()
		moments = append(moments, now(t, clock, s))
	}
	get := client(t, s, clock)
	for i, moment := range moments {
		var nodes []snapshotNode
		get(fmt.Sprintf("/scheduler/graph-snapshot?time=%d", moment.at.UnixNano()), &nodes)
		got := map[string]string{}
		for _, n := range nodes {
			text := describe(t, n.Flags["value-state"], n.Value)
			for _, target := range n.Targets {
				text += fmt.Sprint(" ", target.Relation, target.MatchingKeys)
			}
			got[n.Key] = text
		}
		if !maps.Equal(got, moment.values) {
			t.Errorf("after transaction %d:\ngot  %v\nwant %v", i-1, got, moment.values)
		}
		var txns []api.RecordedTxn
		get(fmt.Sprintf("/scheduler/txn-history?until=%d", moment.at.UnixNano()), &txns)
		if len(txns) != i {
			t.Errorf("%d transactions until moment %d", len(txns), i)
		}
	}
}

type snapshotNode struct {
	Key     string
	Value   api.JSONValue
	Flags   map[string]string
	Targets []struct {
		Relation     string
		MatchingKeys []string
	}
}

// client returns a function that asks the REST API.
func client(t *testing.T, s api.KVScheduler, clock *kvstest.Clock) func(url string, into any) {
	mux := http.NewServeMux()
	for _, e := range restapi.Endpoints(restapi.Deps{Scheduler: s.(restapi.Scheduler), Now: clock.Now}) {
		for _, method := range e.Methods {
			mux.HandleFunc(method+" "+e.Path, e.Handler)
		}
	}
	return func(url string, into any) {
		t.Helper()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", url, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
	}
}

func commit(t *testing.T, s api.KVScheduler, values map[string]*model.Item, opts ...api.TxnOption) error {
	t.Helper()
	txn := s.StartNBTransaction()
	for key, v := range values {
		if v == nil {
			txn.SetValue(key, nil)
		} else {
			txn.SetValue(key, v)
		}
	}
	_, err := txn.Commit(t.Context(), opts...)
	return err
}
