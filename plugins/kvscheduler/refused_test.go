package kvscheduler_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// errorLog collects the log entries at level error.
type errorLog struct {
	logging.PluginLogger
	mu   sync.Mutex
	seen []string
}

func (l *errorLog) Error(msg any, kv ...any) {
	l.mu.Lock()
	l.seen = append(l.seen, fmt.Sprint(msg, " ", kv))
	l.mu.Unlock()
	l.PluginLogger.Error(msg, kv...)
}

func (l *errorLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.seen, "\n")
}

// TestRefusedDescriptorIsReported registers a descriptor that is refused, by a plugin
// that ignores the error: the log, the health, the transaction and the status of a
// value say which descriptor lacks what. The others work.
func TestRefusedDescriptorIsReported(t *testing.T) {
	t.Parallel()
	tree := health.NewTree(nil)
	log := &errorLog{PluginLogger: infratest.Logger(t, "kvscheduler")}
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}))
	s.Health, s.Log = tree.Plugin("kvscheduler"), log
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	incomplete := sb.Descriptor("incomplete", "incomplete/")
	incomplete.Delete = nil
	_ = s.RegisterKVDescriptor(incomplete, sb.Descriptor("tap", "tap/"))

	const want = `descriptor "incomplete": Create without Delete`
	if got := log.text(); !strings.Contains(got, want) {
		t.Errorf("logged errors %q, expected %q", got, want)
	}
	got := tree.Snapshot().Plugins[0]
	if got.State != health.Error || !strings.Contains(got.Trouble(), want) {
		t.Errorf("health %v %q, expected ERROR with %q", got.State, got.Trouble(), want)
	}
	err := commit(t, s, map[string]*model.Item{"incomplete/1": {}, "tap/1": {}})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("commit: %v, expected %q", err, want)
	}
	if v := s.GetValueStatus("incomplete/1").GetValue(); v.State != pb.ValueState_INVALID || !strings.Contains(v.Error, want) {
		t.Errorf("incomplete/1 is %v, %q", v.State, v.Error)
	}
	if v := s.GetValueStatus("tap/1").GetValue(); v.State != pb.ValueState_CONFIGURED {
		t.Errorf("tap/1 is %v, %q", v.State, v.Error)
	}

	if err := s.RegisterKVDescriptor(sb.Descriptor("complete", "incomplete/")); err != nil {
		t.Fatal(err)
	}
	s.TransactionBarrier()
	if v := s.GetValueStatus("incomplete/1").GetValue(); v.State != pb.ValueState_CONFIGURED {
		t.Errorf("with a descriptor, incomplete/1 is %v, %q", v.State, v.Error)
	}
}
