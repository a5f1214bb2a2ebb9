package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/drift"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// drifts is the state of the detection of drift.
type drifts struct {
	turn chan struct{} // holds one token while a detection runs

	mu      sync.Mutex
	last    *api.DriftReport // replaced, never changed
	changed map[string]bool  // base values that transactions changed during a concurrent read; nil: none runs
}

func newDrifts() *drifts { return &drifts{turn: make(chan struct{}, 1)} }

// LastDrift implements api.DriftDetector.
func (c *Control) LastDrift() *api.DriftReport {
	c.drifts.mu.Lock()
	defer c.drifts.mu.Unlock()
	return c.drifts.last
}

// DetectDrift implements api.DriftDetector.
func (c *Control) DetectDrift(ctx context.Context) (*api.DriftReport, error) {
	select {
	case c.drifts.turn <- struct{}{}:
		defer func() { <-c.drifts.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.stopped:
		return nil, api.ErrClosedScheduler
	}
	report := &api.DriftReport{Start: c.clock.Now()}
	reg := c.registry.Load()
	for _, d := range reg.RetrieveOrder() {
		if d.Retrieve == nil {
			if d.NBKeyPrefix != "" && d.Create != nil {
				report.Unread = append(report.Unread, api.DriftUnread{Descriptor: d.Name, Reason: "the descriptor has no Retrieve", Never: true})
			}
			continue
		}
		found, values, failed, err := c.detect(ctx, reg, d)
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
	report.Stop = c.clock.Now()
	c.drifts.mu.Lock()
	defer c.drifts.mu.Unlock()
	c.drifts.last = report
	return report, nil
}

// RepairDrift implements api.DriftDetector.
func (c *Control) RepairDrift(ctx context.Context, found []api.Drift, opts ...api.TxnOption) (seqNum uint64, err error) {
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
	seqNum, err = c.submit(ctx, t)
	c.repaired(seqNum)
	return seqNum, err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *Control) repaired(seq uint64) {
	c.drifts.mu.Lock()
	defer c.drifts.mu.Unlock()
	if c.drifts.last == nil || seq == api.NoSeqNum {
		return
	}
	next := *c.drifts.last
	next.Repairs = append(slices.Clone(next.Repairs), seq)
	c.drifts.last = &next
}

// prepareRepair reads the drifted values again and has them planned anew.
func (c *Control) prepareRepair(found []api.Drift, p *prepared) {
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
	before := c.withDerived(bases) // what others may stand on, also if it is gone then
	c.readAgain(bases, p.request.Closed)
	p.request.Touch = append(append(p.request.Touch, before...), c.withDerived(bases)...)
	slices.Sort(p.request.Touch)
	p.request.Touch = slices.Compact(p.request.Touch)
	p.request.DropUnwanted = c.fullResyncDone
}

// readAgain takes over what the southbound says about base values, also about
// those that are believed not to exist.
func (c *Control) readAgain(bases []string, closed map[string]bool) {
	keys := map[*registry.Descriptor]map[string]bool{}
	reg := c.registry.Load()
	for _, base := range bases {
		d, err := reg.Lookup(base)
		if err != nil || d == nil || d.Retrieve == nil {
			continue // nobody can tell anything new about it
		}
		if keys[d] == nil {
			keys[d] = map[string]bool{}
		}
		keys[d][base] = true
	}
	r := c.refresher(closed)
	for _, d := range reg.RetrieveOrder() {
		if keys[d] != nil {
			r.Among(d, keys[d])
		}
	}
}
