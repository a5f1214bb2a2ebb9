package kvscheduler_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// told is a health reporter that keeps the last report of every scope.
type told struct {
	name string
	last map[string]string
}

func (r told) OK(msg string)                     { r.last[r.name] = msg }
func (r told) Starting(string)                   {}
func (r told) Degraded(reason string, err error) { r.last[r.name] = reason + ": " + err.Error() }
func (r told) Failed(reason string, err error)   { r.Degraded(reason, err) }
func (r told) Scope(name string) health.Reporter { return told{name, r.last} }
func (r told) Close()                            {}

// What could not be read degrades the health of the agent until it can.
func TestUnreadIsDegraded(t *testing.T) {
	t.Parallel()
	reports := told{last: map[string]string{}}
	clock := kvstest.NewClock()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}), kvscheduler.UseClock(clock),
		kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.Health = reports }))
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	sb.Put("tap/1", &model.Item{})
	sb.Inject(kvstest.Fault{Op: kvstest.Retrieve, Key: "tap", Times: 2})
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	txn := s.StartNBTransaction().SetValue("tap/1", &model.Item{})
	if _, err := txn.Commit(t.Context(), api.WithResync(api.FullResync, false)); err != nil {
		t.Fatal(err)
	}
	const want = `nothing is created that may exist already: descriptor "tap" since 2026-01-01T00:00:00Z: injected failure of retrieve tap`
	if got := reports.last["retrieve"]; !strings.HasSuffix(got, want) {
		t.Errorf("got %q", got)
	}
	clock.Advance(10*time.Second, s.TransactionBarrier)
	if got := reports.last["retrieve"]; got != "all descriptors were read" {
		t.Errorf("got %q", got)
	}
	if got := s.GetValueStatus("tap/1").GetValue().GetState(); got != pb.ValueState_CONFIGURED {
		t.Errorf("got %v", got)
	}
}
