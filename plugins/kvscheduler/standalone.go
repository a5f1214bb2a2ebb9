package kvscheduler

import (
	"context"
	"os"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/control"
)

// New starts a scheduler as a library: without an agent, a configuration file
// or REST around it. The descriptors are registered and checked together; more
// of them can be registered later. The scheduler runs until ctx ends or stop is
// called; stop returns when nothing runs any more, and may be called again.
// What is committed afterwards fails with api.ErrClosedScheduler. The
// southbound stays as it is.
//
// Of the options, UseConf (history, printing, drift), UseClock, UseRand, UseOutput
// and a logger in UseDeps apply. Unlike in an agent, transactions are printed
// only if UseConf or UseOutput say so.
func New(ctx context.Context, descriptors []*api.KVDescriptor, opts ...Option) (scheduler api.KVScheduler, stop func(), err error) {
	s := NewPlugin(opts...)
	s.cfg = s.base()
	if s.defaults == nil && s.output == nil {
		s.cfg.PrintTxnSummary = false
	}
	if err := s.cfg.Validate(); err != nil {
		return nil, nil, err
	}
	if s.Log == nil {
		s.Log = logging.Nop()
	}
	s.start()
	if err := s.control.RegisterKVDescriptor(descriptors...); err != nil {
		return nil, nil, err
	}
	if err := s.control.CheckDescriptors(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.control.Run(ctx) })
	if s.cfg.DriftDetectionInterval > 0 {
		running.Go(func() { s.control.DetectPeriodically(ctx, s.cfg.drift()) })
	}
	return s.control, func() { cancel(); running.Wait() }, nil
}

// start makes the scheduler out of its settings.
func (s *Scheduler) start() {
	if s.output == nil {
		s.output = os.Stdout
	}
	opts := control.Options{
		Log: s.Log, Rand: s.rand, History: s.cfg.history(), Record: s.cfg.RecordTransactionHistory, Print: s.print,
		Waited: s.waited, QueueCapacity: s.cfg.QueueCapacity, QueueAgeing: s.cfg.QueueAgeing,
	}
	if s.clock != nil {
		opts.Clock = s.clock
	}
	s.control = control.New(opts)
	s.KVScheduler = s.control
}
