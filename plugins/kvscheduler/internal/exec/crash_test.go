package exec_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// A southbound goes down during the third of many operations, and its disconnect is
// reported late. Operations that started after the first one failed to reach it are
// no suspects; earlier ones are.
func TestWhoFindsTheSouthboundGoneIsNotSuspected(t *testing.T) {
	t.Parallel()
	errs := map[string]error{"03": errors.New("connection lost"), "02": errBroken}
	reg, err := registry.New(nil).With([]*api.KVDescriptor{{
		Name: "item", Southbound: "s", KeySelector: func(string) bool { return true },
		Create: func(key string, _ proto.Message) (api.Metadata, error) {
			if key > "03" {
				return nil, fmt.Errorf("set it: %w", api.Unreached(errors.New("connection lost")))
			}
			return nil, errs[key]
		},
		Delete: func(string, proto.Message, api.Metadata) error { return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	g, crashes := graph.New(), exec.NewCrashes()
	x := &exec.Executor{Graph: g, Lock: &sync.Mutex{}, Refresh: func([]string) []string { return nil }, Crashes: crashes, Overdue: exec.NewOverdue(exec.SystemClock{}, 0, func(exec.Call) {}), Now: func() time.Time {
		now = now.Add(time.Microsecond)
		return now
	}}
	req := plan.Request{}
	for n := range 50 {
		key, d := fmt.Sprintf("%02d", n), reg.ByName("item")
		req.Changes = append(req.Changes, plan.Change{Key: key, Desc: d, Want: reg.Wanted(key, d, wrapperspb.String(""))})
	}
	if res := x.Execute(&exec.Txn{Request: req, Plan: plan.Make(g, req)}); len(res.Failures) != 48 {
		t.Fatalf("%d failures", len(res.Failures))
	}
	crashes.Lose("s", now.Add(time.Millisecond))
	var keys []string
	for _, call := range crashes.Take("s", now.Add(time.Second)) {
		keys = append(keys, call.Key)
	}
	if want := []string{"02", "03", "04"}; !slices.Equal(keys, want) {
		t.Errorf("suspected %q, expected %q", keys, want)
	}
}
