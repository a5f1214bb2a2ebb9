package control

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

// wardName is the name under which the journal keeps the suspects.
const wardName = "quarantine"

// keptSuspect is what the journal has of a suspect, as JSON.
type keptSuspect struct {
	api.Suspect
	Wish *anypb.Any `json:",omitempty"`
}

// openWard brings back the suspects of an earlier run. They stay what they are
// until somebody asks for them, or asks for everything and not for them.
func (c *Control) openWard() {
	if c.opts.Journal == nil {
		return
	}
	kept, err := c.opts.Journal.LoadState(wardName)
	if err != nil {
		c.log.Error("what earlier runs put into quarantine is not known", "error", err)
		return
	}
	w := &c.ward
	quarantined := 0
	for key, data := range kept {
		s, err := restoreSuspect(key, data)
		if err != nil {
			c.log.Error("a record of the quarantine is damaged and ignored", "key", key, "error", err)
		}
		if err != nil || w.after == 0 {
			w.changed[key] = true
			continue
		}
		w.suspects[key] = s
		if s.Quarantined {
			quarantined++
		}
	}
	if len(w.suspects) > 0 {
		c.log.Warn("values are known to have been worked on when their southbound went down, in an earlier run",
			"values", len(w.suspects), "quarantined", quarantined)
		c.toldSuspects()
	}
	c.keepWard()
}

func restoreSuspect(key string, data []byte) (*suspect, error) {
	var kept keptSuspect
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, err
	}
	if kept.Key != key {
		return nil, fmt.Errorf("it is of the key %q", kept.Key)
	}
	s := &suspect{Suspect: kept.Suspect, early: true}
	if kept.Wish != nil {
		// Nobody can ask for a value of a type that is not known any more: whatever
		// is asked for is something else.
		s.wish, _ = kept.Wish.UnmarshalNew()
	}
	return s, nil
}

func (s *suspect) encode() ([]byte, error) {
	kept := keptSuspect{Suspect: s.Suspect}
	if s.wish != nil {
		wish, err := anypb.New(s.wish)
		if err != nil {
			return nil, err
		}
		kept.Wish = wish
	}
	return json.Marshal(kept)
}

// takeChanges returns what the journal does not know of the suspects, or all of
// them; nil is who is none any more.
func (w *ward) takeChanges(all bool) (put map[string][]byte, problem error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all {
		for key := range w.suspects {
			w.changed[key] = true
		}
	}
	put = make(map[string][]byte, len(w.changed))
	for key := range w.changed {
		switch s := w.suspects[key]; {
		case len(key) > ownership.MaxKey:
		case s == nil:
			put[key] = nil
		default:
			data, err := s.encode()
			if err != nil {
				problem = fmt.Errorf("encode %s: %w", key, err)
				continue
			}
			put[key] = data
		}
	}
	clear(w.changed)
	return put, problem
}

// keepWard writes down what changed among the suspects.
func (c *Control) keepWard() {
	k := &c.keeper
	if k.journal == nil || len(c.ward.changed) == 0 && !c.ward.unsaved {
		return
	}
	put, err := c.ward.takeChanges(c.ward.unsaved)
	if err != nil {
		c.log.Error("a value in quarantine could not be recorded", "error", err)
	}
	if err := k.journal.SaveState(wardName, put, c.ward.unsaved); err != nil {
		if !c.ward.unsaved {
			c.log.Error("who may have brought a southbound down could not be recorded; it is kept in memory until it can be", "error", err)
		}
		c.ward.unsaved = true
		c.writeLater()
		return
	}
	c.ward.unsaved = false
}

// wishFor is what the northbound wants of the base of a value; nil: nothing.
func (c *Control) wishFor(key, base string) proto.Message {
	if base != "" {
		key = base
	}
	if n := c.graph.Node(key); n != nil && n.Desired() != nil {
		return n.Want.Msg
	}
	return nil
}

// arrive looks which suspects of an earlier run are asked for now: from here on
// they are like those of this one.
func (c *Control) arrive() {
	southbounds := map[string]bool{}
	c.ward.mu.Lock()
	for _, s := range c.ward.suspects {
		if s.early && (c.fullResyncDone || c.wishFor(s.Key, s.Base) != nil) {
			s.early = false
			southbounds[s.Southbound] = true
		}
	}
	c.ward.mu.Unlock()
	for southbound := range southbounds {
		c.beginTrials(southbound)
	}
}

// markQuarantined makes the status of the values in quarantine say so, and
// drops those that nobody wants any more.
func (c *Control) markQuarantined() {
	for _, s := range c.ward.list(func(s *suspect) bool { return s.Quarantined }) {
		n := c.graph.Node(s.Key)
		switch {
		case n != nil:
			c.mark(n, &api.QuarantineError{Suspect: s})
		case !c.ward.get(s.Key).early && (s.Base == "" || c.graph.Node(s.Base) == nil):
			c.ward.drop(s.Key)
			c.toldSuspects()
		}
	}
}

func (c *Control) mark(n *graph.Node, err *api.QuarantineError) {
	if n.Err != nil && n.Err.Error() == err.Error() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.Err, n.Retrying = err, false
	c.refreshed = append(c.refreshed, n.Root().Key)
}
