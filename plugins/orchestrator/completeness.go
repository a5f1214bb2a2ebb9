package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/datasync"
)

// maxGaps is the maximum number of reported gaps per store.
const maxGaps = 5

// gaps describes the unknown parts of the configuration; empty if all of it is
// known. The lock is held.
func (p *Plugin) gaps() (gaps []string) {
	for _, s := range p.stores {
		switch n := len(s.incomplete) - maxGaps; {
		case !s.known && s.recalled: // it may have changed before or since the restart
			gaps = append(gaps, s.name+": no state since the restart; using the previous one")
		case !s.known:
			gaps = append(gaps, s.name+": no initial state")
		case s.guard != nil:
			gaps = append(gaps, s.guard.text(s.name))
		case n > 0:
			gaps = append(gaps, fmt.Sprintf("%s: %s and %d more", s.name, strings.Join(s.incomplete[:maxGaps], ", "), n))
		case n > -maxGaps:
			gaps = append(gaps, s.name+": "+strings.Join(s.incomplete, ", "))
		}
	}
	return gaps
}

// incomplete returns the parts of a store that are unknown as of an event.
func incomplete(event any) []string {
	if e, ok := event.(datasync.Partial); ok {
		return e.Incomplete()
	}
	return nil
}

// learn records what a change reveals about its store. last reports that all of
// the configuration is now known for the first time after an initial
// synchronisation with gaps: the change becomes a full resync. The lock is held.
func (p *Plugin) learn(ch *change) (last bool) {
	if s := ch.store; s != nil {
		s.known = s.known || ch.resync || ch.held
		s.incomplete = slices.Clone(ch.incomplete)
	}
	if !p.keeping || ch.revert {
		return false
	}
	if len(p.gaps()) > 0 {
		ch.keep = ch.resync
		return false
	}
	ch.description = ch.text() + "; all sources are complete now, removing values that are not desired"
	ch.resync, ch.keep = true, false
	return true
}

// tellGaps warns about an initial synchronisation with gaps.
func (p *Plugin) tellGaps(gaps []string) {
	if len(gaps) > 0 {
		p.Log.Warn("a part of the configuration is unknown; nothing found in the southbound is removed until all of it is known",
			"unknown", strings.Join(gaps, "; "), "waited-at-most", p.cfg.InitialSyncTimeout)
	}
}
