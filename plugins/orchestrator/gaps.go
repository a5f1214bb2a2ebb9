package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/datasync"
)

// maxGaps bounds how much of what one store does not know is told.
const maxGaps = 5

// gaps says what is not known of the configuration; empty: all of it is. The
// lock is held.
func (p *Plugin) gaps() (gaps []string) {
	for _, s := range p.stores {
		switch n := len(s.incomplete) - maxGaps; {
		case !s.known && s.recalled: // it may have changed before or since the restart
			gaps = append(gaps, s.name+": no state since the restart, the previous one is used")
		case !s.known:
			gaps = append(gaps, s.name+": no initial state")
		case n > 0:
			gaps = append(gaps, fmt.Sprintf("%s: %s and %d more", s.name, strings.Join(s.incomplete[:maxGaps], ", "), n))
		case n > -maxGaps:
			gaps = append(gaps, s.name+": "+strings.Join(s.incomplete, ", "))
		}
	}
	return gaps
}

// incomplete is what a store does not know as of an event.
func incomplete(event any) []string {
	if e, ok := event.(datasync.Partial); ok {
		return e.Incomplete()
	}
	return nil
}

// learn notes what a change tells about its store. last tells that with it all
// of the configuration is known for the first time, after an initial
// synchronisation with gaps: the change becomes a full resync. The lock is held.
func (p *Plugin) learn(ch *change) (last bool) {
	if s := ch.store; s != nil {
		s.known = s.known || ch.resync
		s.incomplete = slices.Clone(ch.incomplete)
	}
	if !p.keeping || ch.revert {
		return false
	}
	if len(p.gaps()) > 0 {
		ch.keep = ch.resync
		return false
	}
	ch.description = ch.text() + "; all sources are complete now, what nobody asks for is removed"
	ch.resync, ch.keep = true, false
	return true
}

// tellGaps warns that the initial synchronisation has gaps.
func (p *Plugin) tellGaps(gaps []string) {
	if len(gaps) > 0 {
		p.Log.Warn("a part of the configuration is unknown; nothing found in the southbound is removed until all of it is known",
			"unknown", strings.Join(gaps, "; "), "waited-at-most", p.cfg.InitialSyncTimeout)
	}
}
