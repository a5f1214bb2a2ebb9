package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
)

// suspectsName is the name under which the journal keeps the suspects.
const suspectsName = "quarantine"

// open restores the suspects of an earlier run. They stay unchanged until a client
// configures them, or sends a full resync without them.
func (tr *trials) open() {
	kept, err := tr.journal.load(suspectsName)
	if err != nil {
		tr.log.Error("what earlier runs put into quarantine is not known", "error", err)
		return
	}
	for key, data := range kept {
		if err := tr.suspects.Restore(key, data); err != nil {
			tr.log.Error("a record of the quarantine is damaged and ignored", "key", key, "error", err)
		}
	}
	if n := tr.suspects.Len(); n > 0 {
		tr.log.Warn("values are known to have been worked on when their southbound went down, in an earlier run",
			"values", n, "quarantined", len(tr.quarantined()))
		tr.reportSuspects()
	}
	tr.save()
}

func (tr *trials) quarantined() []api.Suspect {
	return tr.suspects.List(func(s *quarantine.Suspect) bool { return s.Quarantined })
}

// save writes the suspects that changed to the journal.
func (tr *trials) save() {
	if tr.journal.store == nil || !tr.suspects.Changed() && !tr.unsaved {
		return
	}
	put, err := tr.suspects.TakeChanges(tr.unsaved)
	if err != nil {
		tr.log.Error("a value in quarantine could not be recorded", "error", err)
	}
	if err := tr.journal.store.SaveState(suspectsName, put, tr.unsaved); err != nil {
		if !tr.unsaved {
			tr.log.Error("who may have brought a southbound down could not be recorded; it is kept in memory until it can be", "error", err)
		}
		tr.unsaved = true
		tr.journal.writeLater()
		return
	}
	tr.unsaved = false
}

// arrive finds the suspects of an earlier run that are desired now, and treats them like
// those of this run.
func (tr *trials) arrive() {
	southbounds := map[string]bool{}
	tr.suspects.Update(func(s *quarantine.Suspect) {
		if s.Early && (tr.state.fullResyncDone || tr.state.desired(s.Key, s.Base) != nil) {
			s.Early = false
			southbounds[s.Southbound] = true
		}
	})
	for southbound := range southbounds {
		tr.beginTrials(southbound)
	}
}

// markQuarantined sets the error of the values in quarantine, and drops those that are
// no longer desired.
func (tr *trials) markQuarantined() {
	for _, s := range tr.quarantined() {
		n := tr.state.graph.Node(s.Key)
		switch {
		case n != nil:
			if err := (&api.QuarantineError{Suspect: s}); n.Err == nil || n.Err.Error() != err.Error() {
				tr.state.setError(n, err)
			}
		case !tr.suspects.Get(s.Key).Early && (s.Base == "" || tr.state.graph.Node(s.Base) == nil):
			tr.suspects.Drop(s.Key)
			tr.reportSuspects()
		}
	}
}
