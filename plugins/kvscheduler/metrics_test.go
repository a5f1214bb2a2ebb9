package kvscheduler_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// metricsOf is a plugin to register metrics with.
type metricsOf struct{ registry *prometheus.Registry }

func (m metricsOf) Registry() prometheus.Registerer { return m.registry }

// lines are the metrics as "name label=value ... number"; of a histogram the
// number of observations.
func (m metricsOf) lines(t *testing.T) (list []string) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.Metric {
			line := strings.TrimPrefix(family.GetName(), "ligato_kvscheduler_")
			for _, l := range metric.Label {
				line += " " + l.GetName() + "=" + l.GetValue()
			}
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			list = append(list, fmt.Sprint(line, " ", value))
		}
	}
	return list
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := metricsOf{prometheus.NewRegistry()}
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}), kvscheduler.UseClock(kvstest.NewClock()),
		kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.Metrics = m }))
	agenttest.Start(t, s)
	s.TellChanges(func() api.ChangesStatus {
		return api.ChangesStatus{Capacity: 9, Waiting: 3, Clients: 2, OldestAge: api.Seconds(time.Second), Refused: 4, Canceled: 5}
	})
	sb := kvstest.NewMockSB()
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), sb.Descriptor("piece", "piece/", kvstest.Derived())); err != nil {
		t.Fatal(err)
	}
	sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: "tap/bad"})
	err := commit(t, s, map[string]*model.Item{
		"tap/1": {Value: 1, Derived: []*model.Derived{{Key: "piece/1"}}}, "tap/2": {Deps: []string{"no"}}, "tap/bad": {},
	})
	if err == nil {
		t.Fatal("nothing failed")
	}
	sb.Put("tap/1", &model.Item{Value: 2, Derived: []*model.Derived{{Key: "piece/1"}}})
	if _, err := s.DetectDrift(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := m.lines(t)
	for _, want := range []string{
		"txn_processed 1", "transactions_total result=failed txn_type=NBTransaction 1", "txn_duration_seconds txn_type=NBTransaction 1",
		"queue_wait_seconds txn_type=NBTransaction 1", "queue_length 0", "queue_capacity 200", "queue_oldest_seconds 0", "queue_waiting class=northbound 0", "queue_waiting class=sessions 0", "retries_pending 0",
		"changes_waiting 3", "changes_clients_waiting 2", "changes_capacity 9", "changes_oldest_seconds 1", "changes_refused_total 4", "changes_canceled_total 5",
		"operations_total descriptor=tap operation=CREATE result=ok 1", "operations_total descriptor=tap operation=CREATE result=failed 1",
		"operations_total descriptor=tap operation=CREATE result=noop 1", "operations_total descriptor=piece operation=CREATE result=ok 1",
		"operation_duration_seconds descriptor=tap operation=CREATE 2", "operation_duration_seconds descriptor=piece operation=CREATE 1",
		"values state=CONFIGURED 2", "values state=PENDING 1", "values state=FAILED 1", "values state=RETRYING 0",
		"drift_values kind=differs 1", "drift_values kind=missing 0", "quarantined_values 0", "suspected_values 0", "unread_descriptors 0",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, line := range got {
		if strings.Contains(line, "tap/") {
			t.Errorf("a key in a metric: %s", line)
		}
	}
}

// The writes of a state directory are counted.
func TestStateMetrics(t *testing.T) {
	t.Parallel()
	m := metricsOf{prometheus.NewRegistry()}
	conf := kvscheduler.DefaultConfig()
	conf.StateDir = t.TempDir()
	s := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(&bytes.Buffer{}),
		kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.Metrics = m }))
	agenttest.Start(t, s)
	if err := s.RegisterKVDescriptor(kvstest.NewMockSB().Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}}); err != nil {
		t.Fatal(err)
	}
	got := m.lines(t)
	for _, want := range []string{"state_writes_total 2", "state_write_errors_total 0"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
}
