package engine

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/drift"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
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

func (dd *driftDetector) LastDrift() *api.DriftReport {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	return dd.last
}

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
			if d.NBKeyPrefix != "" && d.Create != nil && dd.hasValues(d) {
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
	slices.SortFunc(report.Drifts, func(a, b api.Drift) int { return strings.Compare(a.Key, b.Key) })
	slices.SortFunc(report.Unread, func(a, b api.DriftUnread) int { return strings.Compare(a.Descriptor, b.Descriptor) })
	report.Stop = dd.clock.Now()
	dd.mu.Lock()
	defer dd.mu.Unlock()
	dd.last = report
	return report, nil
}

func (dd *driftDetector) RepairDrift(ctx context.Context, found []api.Drift, opts ...api.TxnOption) (seqNum uint64, err error) {
	found = slices.DeleteFunc(slices.Clone(found), func(d api.Drift) bool { return d.Foreign() })
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

// reading is the result of Retrieve of one descriptor, with the actual state of its
// values in the graph at that time.
type reading struct {
	believed []drift.Belief
	found    []api.KVWithMetadata
	changed  bool  // transactions ran during a concurrent read
	err      error // of the descriptor
}

// detect returns the drifts of one descriptor and the number of values compared.
// failed is the reason why the descriptor could not be read.
func (dd *driftDetector) detect(ctx context.Context, reg *registry.Registry, d *registry.Descriptor) (found []api.Drift, values int, failed, err error) {
	read := dd.readBetween
	if d.ConcurrentRetrieve {
		read = dd.readBeside
	}
	var before []api.Drift
	for attempt := 1; ; attempt++ {
		r, err := read(ctx, d)
		if err != nil || r.err != nil {
			return nil, 0, r.err, err
		}
		found, values, failed = drift.Compare(reg, d, r.believed, r.found)
		if failed != nil || !r.changed || len(found) == 0 {
			return found, values, failed, nil
		}
		if attempt > 1 {
			return drift.Common(before, found), values, nil, nil
		}
		// A concurrent change of another value may look like drift of a value that
		// refers to it. Only real drift is found again.
		before = found
	}
}

// readBetween runs Retrieve between two transactions, in the order of the queue.
func (dd *driftDetector) readBetween(ctx context.Context, d *registry.Descriptor) (reading, error) {
	done := make(chan reading, 1)
	err := dd.admission.push(call(func() {
		if ctx.Err() == nil {
			done <- dd.readNow(d)
		}
	}))
	if err != nil {
		return reading{}, err
	}
	return await(ctx, dd.admission, done)
}

func (dd *driftDetector) readNow(d *registry.Descriptor) (r reading) {
	known, found, err := dd.southbound.refresher(dd.southbound.closed()).Read(d)
	r.found, r.err = found, err
	r.believed = make([]drift.Belief, len(known))
	for i, n := range known {
		r.believed[i] = drift.Believe(n)
	}
	return r
}

// readBeside runs Retrieve concurrently with transactions. The result omits the values
// that they change before Retrieve returns.
func (dd *driftDetector) readBeside(ctx context.Context, d *registry.Descriptor) (r reading, err error) {
	dd.track()
	defer dd.untrack()
	believed, correlate := dd.believed(d)
	var read func() ([]api.KVWithMetadata, error)
	err = dd.admission.onWorker(ctx, func() { read, r.err = dd.southbound.refresher(dd.southbound.closed()).Prepare(d, correlate) })
	if err != nil || r.err != nil || read == nil {
		return r, err
	}
	done := make(chan reading, 1)
	go func() {
		found, err := read()
		done <- reading{found: found, err: err}
	}()
	if r, err = await(ctx, dd.admission, done); err != nil || r.err != nil {
		return r, err
	}
	believed = dd.elsewhere(d, believed, r.found)
	var changed map[string]bool
	err = dd.admission.onWorker(ctx, func() { // between transactions, so that all changes are recorded
		changed = dd.untrack()
		if dd.southbound.closed()[d.Session()] {
			r.err = refresh.Disconnected(d)
		}
	})
	r.changed = len(changed) > 0
	r.believed = slices.DeleteFunc(believed, func(b drift.Belief) bool { return changed[b.Key] })
	r.found = slices.DeleteFunc(r.found, func(kv api.KVWithMetadata) bool { return changed[kv.Key] })
	return r, err
}

// lockedNodes is how many nodes are visited before the lock is released.
const lockedNodes = 1024

// believed copies the actual state of the values of a descriptor in the graph, and
// returns the values for its Retrieve to correlate. Transactions may run concurrently.
func (dd *driftDetector) believed(d *registry.Descriptor) (list []drift.Belief, correlate []api.KVWithMetadata) {
	for from, more := d.NBKeyPrefix, true; more; {
		from, more = dd.someNodes(d.NBKeyPrefix, from, func(n *graph.Node) {
			if n.Desc == d && n.Base == nil {
				list = append(list, drift.Believe(n))
				correlate = refresh.Expect(correlate, n)
			}
		})
	}
	return list, correlate
}

// hasValues reports whether a descriptor has values.
func (dd *driftDetector) hasValues(d *registry.Descriptor) (has bool) {
	for from, more := d.NBKeyPrefix, true; more && !has; {
		from, more = dd.someNodes(d.NBKeyPrefix, from, func(n *graph.Node) { has = has || n.Desc == d && n.Base == nil })
	}
	return has
}

// someNodes calls f with nodes that have a prefix, starting at a key, at most lockedNodes
// of them. It returns the next key; more is false at the end.
func (dd *driftDetector) someNodes(prefix, from string, f func(*graph.Node)) (next string, more bool) {
	dd.state.mu.RLock()
	defer dd.state.mu.RUnlock()
	count := 0
	for n := range dd.state.graph.From(from) {
		if !strings.HasPrefix(n.Key, prefix) {
			break
		}
		if count++; count > lockedNodes {
			return n.Key, true
		}
		f(n)
	}
	return "", false
}

// elsewhere adds the actual state of values that were found under keys without the
// prefix of their descriptor.
func (dd *driftDetector) elsewhere(d *registry.Descriptor, believed []drift.Belief, found []api.KVWithMetadata) []drift.Belief {
	dd.state.mu.RLock()
	defer dd.state.mu.RUnlock()
	for i := range found {
		if strings.HasPrefix(found[i].Key, d.NBKeyPrefix) {
			continue
		}
		if n := dd.state.graph.Node(found[i].Key); n != nil && n.Desc == d && n.Base == nil {
			believed = append(believed, drift.Believe(n))
		}
	}
	return believed
}

// track starts collecting the base values that transactions change.
func (dd *driftDetector) track() {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	dd.changed = map[string]bool{}
}

// untrack stops the collection and returns the keys of the values.
func (dd *driftDetector) untrack() map[string]bool {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	changed := dd.changed
	dd.changed = nil
	return changed
}

// note adds the keys of base values that a transaction changed.
func (dd *driftDetector) note(keys []string) {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	if dd.changed == nil {
		return
	}
	for _, key := range keys {
		dd.changed[key] = true
	}
}

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
			if d := &report.Drifts[i]; opts.Repair != nil && !d.Foreign() && opts.Repair(d) {
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
