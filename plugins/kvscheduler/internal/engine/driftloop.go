package engine

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// DriftOptions configure the periodic detection of drift.
type DriftOptions struct {
	// Interval is the time from the end of a detection to the start of the next.
	Interval time.Duration
	// Repair reports whether to repair a drift; nil disables repairs. A value that
	// drifts again right after its repair is repaired after 1, 2, 4, ... up to 64
	// detections, which slows down a conflict with another owner of the value.
	Repair func(d *api.Drift) bool
}

// periodically is Engine.DetectPeriodically.
func (dd *driftDetector) periodically(ctx context.Context, opts DriftOptions) {
	p, told := pacing{}, driftLog{}
	for dd.sleep(ctx, opts.Interval) {
		report, err := dd.DetectDrift(ctx)
		if err != nil {
			return
		}
		told.tell(dd.log, report)
		var repair []api.Drift
		for i := range report.Drifts {
			if opts.Repair != nil && opts.Repair(&report.Drifts[i]) {
				repair = append(repair, report.Drifts[i])
			}
		}
		if repair = p.due(repair); len(repair) > 0 {
			_, err := dd.RepairDrift(ctx, repair, api.WithRetryDefault())
			if err != nil && ctx.Err() == nil {
				dd.log.Warn("drift was not repaired", "error", err)
			}
			told.repaired(repair)
		}
	}
}

// sleep waits for d. It returns false if the context ended.
func (dd *driftDetector) sleep(ctx context.Context, d time.Duration) bool {
	over := make(chan struct{})
	stop := dd.clock.AfterFunc(d, func() { close(over) })
	select {
	case <-over:
		return ctx.Err() == nil
	case <-ctx.Done():
		stop()
		return false
	}
}

// pacing delays the repairs of values that drift repeatedly.
type pacing map[string]pace

type pace struct {
	repairs int // since the last detection without drift of the value
	wait    int // detections until the next repair
}

// due returns the drifts to repair now.
func (p pacing) due(drifts []api.Drift) (now []api.Drift) {
	const limit = 6
	drifting := make(map[string]bool, len(drifts))
	for i := range drifts {
		key := drifts[i].Key
		drifting[key] = true
		this := p[key]
		if this.wait > 0 {
			this.wait--
		} else {
			now = append(now, drifts[i])
			this.wait = 1<<min(this.repairs, limit) - 1
			this.repairs++
		}
		p[key] = this
	}
	for key := range p {
		if !drifting[key] {
			delete(p, key)
		}
	}
	return now
}

// maxLogged limits the keys in one log line; the report has all of them.
const maxLogged = 10

// driftLog remembers which drift was logged, by key. A drift is logged when it
// appears, changes, recurs after a repair, or ends.
type driftLog map[string]toldDrift

type toldDrift struct {
	descriptor string
	what       uint64 // see driftSum
	repaired   bool   // after it was logged
}

// driftSeed is the seed of driftSum.
var driftSeed = maphash.MakeSeed()

// tell logs the changes between the previous report and this one.
func (l driftLog) tell(log logging.Logger, report *api.DriftReport) {
	drifting := make(map[string]bool, len(report.Drifts))
	var fresh, ended []string
	for i := range report.Drifts {
		d := &report.Drifts[i]
		drifting[d.Key] = true
		now := toldDrift{descriptor: d.Descriptor, what: driftSum(d)}
		if l[d.Key] != now {
			fresh = append(fresh, d.Key)
			l[d.Key] = now
		}
	}
	unread := make(map[string]bool, len(report.Unread))
	for _, u := range report.Unread {
		unread[u.Descriptor] = true
	}
	for key, told := range l {
		if !drifting[key] && !unread[told.descriptor] {
			ended = append(ended, key)
			delete(l, key)
		}
	}
	slices.Sort(ended)
	if len(ended) > 0 {
		log.Info("southbound is again as it should be", "values", len(ended), "still-drifted", len(l), "keys", ended[:min(maxLogged, len(ended))])
	}
	if len(fresh) == 0 {
		log.Debug("no new drift", "values", report.Values, "drifted", len(report.Drifts), "unread-descriptors", len(report.Unread))
		return
	}
	kv := []any{"values", report.Values, "new", len(fresh)}
	for _, kind := range api.DriftKinds() {
		kv = append(kv, string(kind), report.Count(kind))
	}
	log.Warn("southbound drifted", append(kv, "keys", fresh[:min(maxLogged, len(fresh))])...)
}

// repaired marks drifts as repaired, so that they are logged when they recur.
func (l driftLog) repaired(drifts []api.Drift) {
	for i := range drifts {
		if told, ok := l[drifts[i].Key]; ok {
			told.repaired = true
			l[drifts[i].Key] = told
		}
	}
}

// driftSum returns a hash of the kind of a drift and of its differences.
func driftSum(d *api.Drift) uint64 {
	var h maphash.Hash
	h.SetSeed(driftSeed)
	write := func(parts ...string) {
		for _, part := range parts {
			_, _ = h.WriteString(part) // never fails
			_ = h.WriteByte(0)
		}
	}
	write(string(d.Kind))
	for _, f := range d.Fields {
		write(f.Field, f.Found)
	}
	if len(d.Fields) == 0 && d.Found.Message != nil {
		wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(d.Found.Message)
		if err == nil { // otherwise only the kind counts
			_, _ = h.Write(wire)
		}
	}
	return h.Sum64()
}
