package kvscheduler

import (
	"context"
	"errors"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/spans"
)

// New starts a scheduler as a library: without an agent, a configuration file
// or REST around it. The descriptors are registered and checked together; more
// of them can be registered later. The scheduler runs until ctx ends or stop is
// called; stop returns when all goroutines have ended, and may be called again. Commits
// after that fail with api.ErrClosedScheduler. The southbound stays as it is.
//
// Of the options, UseConf (history, printing, drift, state), UseClock, UseRand, UseOutput,
// UseTracer and a logger in UseDeps apply. Unlike in an agent, transactions are printed
// only if UseConf or UseOutput say so.
func New(ctx context.Context, descriptors []*api.KVDescriptor, opts ...Option) (scheduler api.KVScheduler, stop func(), err error) {
	s := NewPlugin(opts...)
	s.cfg = config.Or(s.defaults, DefaultConfig())
	if s.defaults == nil && s.output == nil {
		s.cfg.PrintTxnSummary = PrintNever
	}
	if err := s.cfg.Validate(); err != nil {
		return nil, nil, err
	}
	if s.Log == nil {
		s.Log = logging.Nop()
	}
	if s.Health == nil {
		s.Health = health.Discard()
	}
	if err := s.openState(); err != nil {
		return nil, nil, err
	}
	s.start()
	if err := errors.Join(s.engine.RegisterKVDescriptor(descriptors...), s.engine.CheckDescriptors(), s.checkOwnership()); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.engine.Run(ctx) })
	if s.cfg.DriftDetectionInterval > 0 {
		running.Go(func() { s.engine.DetectPeriodically(ctx, s.cfg.drift()) })
	}
	return s.engine, sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := s.Close(); err != nil {
			s.Log.Warn("stop of the scheduler", "error", err)
		}
	}), nil
}

// start makes the scheduler out of its settings.
func (s *Scheduler) start() {
	auto := s.output != nil
	if !auto {
		s.output, auto = os.Stdout, term.IsTerminal(int(os.Stdout.Fd()))
	}
	s.printing = s.cfg.PrintTxnSummary == PrintAlways || s.cfg.PrintTxnSummary == PrintAuto && auto
	opts := engine.Options{
		Log: s.Log, Rand: s.rand, History: s.cfg.history(), Record: s.cfg.RecordTransactionHistory, Print: s.print,
		Waited: s.waited, QueueCapacity: s.cfg.QueueCapacity, QueueAgeing: s.cfg.QueueAgeing,
		CallbackTimeout: s.cfg.CallbackTimeout, QuarantineAfter: s.cfg.QuarantineAfter, CrashWindow: s.cfg.CrashWindow, Conditions: &conditions{s.Health},
		CheckContracts: s.cfg.CheckContracts, RepairLost: s.cfg.repairsLost, ResyncFirst: s.resyncFirst,
	}
	if s.clock != nil {
		opts.Clock = s.clock
	}
	if s.Records != nil {
		opts.Records = s.Records.Records
	}
	if s.printing && s.cfg.EnableTxnSimulation {
		opts.PrintPlans = maxPrinted
	}
	opts.Policies = s.cfg.policies()
	if s.store != nil {
		opts.Journal = s.store
	}
	s.engine = engine.New(opts)
	s.KVScheduler = s.engine
	if s.tracer == nil && s.Tracing != nil {
		s.tracer = s.Tracing.TracerProvider()
	}
	if s.tracer != nil {
		s.spans = spans.New(s.tracer, s.engine.DescriptorOf)
	}
}
