// Package kvscheduler is the KV Scheduler: it receives the desired values,
// in any order, and finds out with the help of descriptors what has to be done
// to the southbound, in which order, and what has to wait for what.
package kvscheduler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/tracing"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/meter"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/restapi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/spans"
)

// Scheduler is the scheduler as a plugin. It can be used from Init on;
// transactions committed earlier than AfterInit wait.
type Scheduler struct {
	Deps
	// KVScheduler is the scheduler itself, set by Init.
	api.KVScheduler `optional:"true"`

	defaults *Config
	cfg      Config
	clock    Clock
	rand     *rand.Rand
	output   io.Writer
	printing bool // of transactions, to output

	engine      *engine.Engine
	meter       *meter.Meter         // nil: no metrics
	tracer      trace.TracerProvider // nil: use Tracing's
	resyncFirst bool                 // see ResyncFirst
	spans       *spans.Emitter       // nil: no spans
	stateDir    string               // of the flag
	store       *ownership.Store
}

// Deps are the dependencies of the scheduler.
type Deps struct {
	infra.PluginDeps
	// HTTP serves the endpoints under /scheduler; nil: none.
	HTTP rest.HTTPHandlers `optional:"true"`
	// Label names the agent to others that want its state directory, and in what is
	// kept there; it may be nil.
	Label Labeller `optional:"true"`
	// Records counts what southbounds send when they are read, for the progress of
	// that; nil: it is not counted.
	Records RecordCounter `optional:"true"`
	// Metrics is where the metrics are registered; nil: none.
	Metrics metrics.Registerer `optional:"true"`
	// Tracing is what spans of transactions are made with; nil: none.
	Tracing tracing.Provider `optional:"true"`
}

// RecordCounter counts the records that southbounds have sent so far.
type RecordCounter interface{ Records() uint64 }

var (
	_ api.KVScheduler = (*Scheduler)(nil)
	_ infra.PostInit  = (*Scheduler)(nil)
)

// ConfigSpec returns the defaults of kvscheduler.conf.
func (s *Scheduler) ConfigSpec() any { return config.Or(s.defaults, DefaultConfig()) }

// Init makes the scheduler accept descriptors and transactions.
func (s *Scheduler) Init() error {
	cfg, _, err := config.Load(s.Cfg, config.Or(s.defaults, DefaultConfig()))
	if err != nil {
		return err
	}
	s.cfg = cfg
	if err := s.openState(); err != nil {
		return err
	}
	s.start()
	if err := s.registerMetrics(); err != nil {
		return err
	}
	return s.registerREST()
}

// AfterInit checks the descriptors of all plugins and begins to execute.
func (s *Scheduler) AfterInit() error {
	if err := errors.Join(s.engine.CheckDescriptors(), s.checkOwnership()); err != nil {
		return err
	}
	s.Go(s.engine.Run)
	if s.cfg.DriftDetectionInterval > 0 {
		s.Go(func(ctx context.Context) { s.engine.DetectPeriodically(ctx, s.cfg.drift()) })
	}
	return nil
}

// TellRefusals sets the function that returns why the northbound refused a value before the scheduler
// got it. Explanations of values show the reason. Call it after Init.
func (s *Scheduler) TellRefusals(r api.Refusals) { s.engine.TellRefusals(r) }

// TellChanges sets the function that reports the changes that the northbound has not
// committed yet, as part of the queue status. Call it after Init.
func (s *Scheduler) TellChanges(changes func() api.ChangesStatus) { s.engine.TellChanges(changes) }

// print logs a transaction: one line at the info level when it ended, and its
// text form if so configured.
func (s *Scheduler) print(txn *api.RecordedTxn, morePlanned int) {
	if s.printing {
		s.printText(txn, morePlanned)
	}
	if !txn.PreRecord {
		if s.meter != nil {
			s.meter.Observe(txn)
		}
		if s.spans != nil {
			s.spans.Emit(txn)
		}
		s.summary(txn)
	}
}

func (s *Scheduler) printText(txn *api.RecordedTxn, morePlanned int) {
	part := record.PartPlan
	if !txn.PreRecord {
		part = record.PartResult
	}
	var text bytes.Buffer
	err := record.Format(&text, txn, record.FormatOptions{
		Part: part, Box: true, Planned: s.cfg.EnableTxnSimulation || txn.WithSimulation, MaxItems: maxPrinted, MorePlanned: morePlanned,
	})
	if err == nil {
		_, err = s.output.Write(text.Bytes())
	}
	if err != nil {
		s.Log.Debug("transaction was not printed", "seq-num", txn.SeqNum, "error", err)
	}
}

// maxPrinted limits the printed operations of one transaction; the history has all
// of them.
const maxPrinted = 1000

func (s *Scheduler) summary(txn *api.RecordedTxn) {
	failed, first := 0, 0
	for i := range txn.Executed {
		if txn.Executed[i].NewErrMsg != "" {
			if failed == 0 {
				first = i
			}
			failed++
		}
	}
	kv := []any{
		"seq-num", txn.SeqNum, "type", record.Kind(txn), "values", len(txn.Values),
		"operations", len(txn.Executed), "took", txn.Stop.Sub(txn.Start),
	}
	if txn.Description != "" {
		kv = append(kv, "description", txn.Description)
	}
	if failed > 0 {
		kv = append(kv, "failed", failed, "key", txn.Executed[first].Key, "error", txn.Executed[first].NewErrMsg)
	}
	switch {
	case txn.NotReverted > 0:
		s.Log.Error("transaction reverted in part", append(kv, "to-revert", txn.ToRevert, "not-reverted", txn.NotReverted)...)
	case txn.Reverted:
		s.Log.Warn("transaction reverted", kv...)
	case failed > 0:
		s.Log.Warn("transaction executed with failures", kv...)
	default:
		s.Log.Info("transaction executed", kv...)
	}
}

func (s *Scheduler) registerREST() error {
	if s.HTTP == nil {
		return nil
	}
	return s.HTTP.Register(s.String(), restapi.Endpoints(restapi.Deps{
		Scheduler: s.engine, Now: s.now,
	})...)
}

func (s *Scheduler) now() time.Time {
	if s.clock != nil {
		return s.clock.Now()
	}
	return time.Now()
}
