package engine

import (
	"hash/maphash"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

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
