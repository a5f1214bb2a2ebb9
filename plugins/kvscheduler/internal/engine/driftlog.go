package engine

import (
	"hash/maphash"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// maxLogged bounds the keys in one line of the log; the report has them all.
const maxLogged = 10

// driftLog is what was logged about drift, by key: each drift is logged when it
// appears, when it is another one, when it is back after a repair, and when it
// has ended.
type driftLog map[string]toldDrift

type toldDrift struct {
	descriptor string
	what       uint64 // tells drifts of one value apart
	repaired   bool   // since then
}

// driftSeed is the same for all drifts of a process.
var driftSeed = maphash.MakeSeed()

// tell logs what is new in a report.
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

// repaired notes that drifts which are found once more are new ones.
func (l driftLog) repaired(drifts []api.Drift) {
	for i := range drifts {
		if told, ok := l[drifts[i].Key]; ok {
			told.repaired = true
			l[drifts[i].Key] = told
		}
	}
}

// driftSum is the same for drifts in which a value differs in the same way.
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
		if err == nil { // else the kind has to do
			_, _ = h.Write(wire)
		}
	}
	return h.Sum64()
}
