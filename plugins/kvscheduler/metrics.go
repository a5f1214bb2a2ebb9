package kvscheduler

import (
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/meter"
)

// registerMetrics lets Prometheus see what the scheduler does, if there is
// anyone to register with.
func (s *Scheduler) registerMetrics() error {
	if s.Metrics == nil {
		return nil
	}
	m := meter.New(s.engine)
	if err := m.Register(s.Metrics.Registry()); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	s.meter = m
	if s.store == nil {
		return nil
	}
	if err := meter.RegisterJournal(s.Metrics.Registry(), s.store.Stats); err != nil {
		return fmt.Errorf("register metrics of the state directory: %w", err)
	}
	return nil
}

func (s *Scheduler) waited(t api.TxnType, d time.Duration) {
	if s.meter != nil {
		s.meter.Waited(t, d)
	}
}
