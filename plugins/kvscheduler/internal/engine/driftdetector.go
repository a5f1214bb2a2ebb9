package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/drift"
)

// driftDetector compares the southbound with the actual state. All methods except
// prepareRepair, which belongs to the worker, may be called concurrently.
type driftDetector struct {
	*shared
	turn chan struct{} // holds one token while a detection runs

	mu      sync.Mutex
	last    *api.DriftReport // immutable
	changed map[string]bool  // base values that transactions changed during a concurrent read; nil without one
}

// LastDrift implements api.DriftDetector.
func (dd *driftDetector) LastDrift() *api.DriftReport {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	return dd.last
}

// DetectDrift implements api.DriftDetector.
func (dd *driftDetector) DetectDrift(ctx context.Context) (*api.DriftReport, error) {
	select {
	case dd.turn <- struct{}{}:
		defer func() { <-dd.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-dd.admission.stopped:
		return nil, api.ErrClosedScheduler
	}
	report := &api.DriftReport{Start: dd.clock.Now()}
	reg := dd.state.registry.Load()
	for _, d := range reg.RetrieveOrder {
		if d.Retrieve == nil {
			if d.NBKeyPrefix != "" && d.Create != nil {
				report.Unread = append(report.Unread, api.DriftUnread{Descriptor: d.Name, Reason: "the descriptor has no Retrieve", Never: true})
			}
			continue
		}
		found, values, failed, err := dd.detect(ctx, reg, d)
		if err != nil {
			return nil, err
		}
		if failed != nil {
			report.Unread = append(report.Unread, api.DriftUnread{Descriptor: d.Name, Reason: failed.Error()})
		}
		report.Drifts = append(report.Drifts, found...)
		report.Values += values
	}
	drift.Sort(report.Drifts)
	slices.SortFunc(report.Unread, func(a, b api.DriftUnread) int { return strings.Compare(a.Descriptor, b.Descriptor) })
	report.Stop = dd.clock.Now()
	dd.mu.Lock()
	defer dd.mu.Unlock()
	dd.last = report
	return report, nil
}

// RepairDrift implements api.DriftDetector.
func (dd *driftDetector) RepairDrift(ctx context.Context, found []api.Drift, opts ...api.TxnOption) (seqNum uint64, err error) {
	if len(found) == 0 {
		return api.NoSeqNum, nil
	}
	o := api.ApplyTxnOptions(opts)
	t := &driftRepair{commit{opts: api.TxnOptions{
		Resync: api.DownstreamResync, Retry: o.Retry, Description: o.Description,
	}}, found}
	if o.Description == "" {
		t.opts.Description = "repair of drift in " + counted(len(found), "value")
	}
	seqNum, err = dd.admission.submit(ctx, t)
	dd.repaired(seqNum)
	return seqNum, err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (dd *driftDetector) repaired(seq uint64) {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	if dd.last == nil || seq == api.NoSeqNum {
		return
	}
	next := *dd.last
	next.Repairs = append(slices.Clone(next.Repairs), seq)
	dd.last = &next
}

// prepareRepair reads the drifted values again and requests a plan for them.
func (dd *driftDetector) prepareRepair(found []api.Drift, p *transaction) {
	bases := make([]string, len(found))
	for i := range found {
		f := &found[i]
		bases[i] = f.Key
		if f.Base != "" {
			bases[i] = f.Base
			p.request.Touch = append(p.request.Touch, f.Base)
		}
		p.request.Touch = append(p.request.Touch, f.Key)
	}
	before := dd.state.withDerived(bases) // dependents need a plan even if the read removes these values
	dd.southbound.readAgain(bases, p.request.Closed)
	p.request.Touch = append(append(p.request.Touch, before...), dd.state.withDerived(bases)...)
	slices.Sort(p.request.Touch)
	p.request.Touch = slices.Compact(p.request.Touch)
	p.request.DropUnwanted = dd.state.fullResyncDone
}
