package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// consideration is how long the operator looks at a source that is held back.
const consideration = time.Second

// restore brings the data back that etcd has lost. Without an agent that accepts anything
// meanwhile, nothing was removed.
func (tr *trial) restore() {
	tr.t.Helper()
	if !tr.lost {
		return
	}
	tr.lost = false
	if tr.sources.inEtcd == nil { // else a change has written the present configuration
		tr.say("restored etcd")
		tr.sources.write(tr.network)
	}
}

// operate waits until the southbounds have what the configuration says, as converge. When
// the agent holds back a source that has all its items, because they delete too many of those in
// effect, it accepts the content as an operator would.
func (tr *trial) operate() (diff string) {
	tr.t.Helper()
	tr.agent.serves()
	held := map[string]time.Time{}
	for end := time.Now().Add(patience); ; {
		if diff = tr.converge(100 * time.Millisecond); diff == "" || time.Now().After(end) {
			return diff
		}
		for source, content := range tr.agent.heldBack() {
			since, known := held[source]
			switch {
			case content != tr.sources.size(source):
				delete(held, source)
			case !known:
				held[source] = time.Now()
			case time.Since(since) > consideration:
				tr.say("accepted %s with %d items", source, content)
				tr.agent.get(http.MethodPost, "/configuration/sources/accept?source="+source)
				tr.accepted++
				delete(held, source)
				tr.look() // until now its former content was in effect, which need not have what is right
				tr.guard.right, tr.guard.touched = state{}, nil
			}
		}
	}
}

// heldBack returns the sources that the agent does not follow, with the number of their items.
func (p *process) heldBack() map[string]int {
	p.t.Helper()
	var all []struct {
		Name  string
		Guard *struct{ Content int }
	}
	text := p.get(http.MethodGet, "/configuration/sources")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	held := map[string]int{}
	for _, s := range all {
		if s.Guard != nil {
			held[s.Name] = s.Guard.Content
		}
	}
	return held
}

// size is the number of items that a source of the agent has.
func (s *sources) size(source string) int {
	if strings.HasPrefix(source, "etcd") {
		return len(s.inEtcd)
	}
	return s.inFile
}
