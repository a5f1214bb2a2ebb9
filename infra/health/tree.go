package health

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// State is the state of an agent, a plugin or a part of one.
type State int

// The states. Init, OK and Error have the numbers of the predecessor's status
// messages.
const (
	Init     State = 0 // its start is not complete
	OK       State = 1
	Error    State = 2 // cannot work until an operator acts
	Degraded State = 3 // works partially, and expects to recover
	Disabled State = 4 // disabled by its configuration
)

// String returns INIT, OK, DEGRADED, ERROR or DISABLED.
func (s State) String() string {
	switch s {
	case Init:
		return "INIT"
	case OK:
		return "OK"
	case Degraded:
		return "DEGRADED"
	case Disabled:
		return "DISABLED"
	}
	return "ERROR"
}

// Well reports whether the state is OK or DISABLED.
func (s State) Well() bool { return s == OK || s == Disabled }

// MarshalText returns the name of the state.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// severity orders states from the best to the worst.
func (s State) severity() int {
	return slices.Index([]State{Disabled, OK, Init, Degraded, Error}, s)
}

func worst(a, b State) State {
	if b.severity() > a.severity() {
		return b
	}
	return a
}

// Tree holds the states of the plugins of one agent and of their parts. All
// methods may be called concurrently and never block.
type Tree struct {
	now func() time.Time

	mu      sync.Mutex
	started time.Time
	changed time.Time // of the state of the agent
	state   State
	plugins map[string]*node
	deps    map[string][]string

	watchers map[chan struct{}]bool
}

// node is a plugin or a part of one.
type node struct {
	name     string
	state    State
	reported bool
	reason   string
	err      string
	since    time.Time // of the state
	changed  time.Time // of anything: state, reason or error
	parts    map[string]*node
	closed   bool
}

// NewTree returns a tree without plugins; now is its clock (nil: time.Now).
func NewTree(now func() time.Time) *Tree {
	if now == nil {
		now = time.Now
	}
	t := &Tree{now: now, plugins: map[string]*node{}, deps: map[string][]string{}, watchers: map[chan struct{}]bool{}}
	t.started = now()
	t.changed = t.started
	return t
}

// Plugin adds a plugin in state Init and returns its reporter. needs are the
// plugins it depends on. While one of them is not well, it is reported as the
// cause of this plugin's failure.
func (t *Tree) Plugin(name string, needs ...string) Reporter {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deps[name] = slices.Clone(needs)
	return t.reporter(name)
}

// Reporter returns the reporter of a plugin that was added, or adds it without
// dependencies.
func (t *Tree) Reporter(name string) Reporter {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reporter(name)
}

func (t *Tree) reporter(name string) Reporter {
	n := t.plugins[name]
	if n == nil {
		n = t.newNode(name)
		t.plugins[name] = n
	}
	t.update()
	return reporter{t, n, nil}
}

// Ready reports that a plugin finished its start. If the plugin has reported
// nothing about itself, it becomes OK.
func (t *Tree) Ready(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.plugins[name]; n != nil && !n.reported {
		t.set(n, OK, "", nil)
	}
}

// Disabled reports that the configuration disables a plugin.
func (t *Tree) Disabled(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.plugins[name]; n != nil {
		t.set(n, Disabled, "", nil)
	}
}

func (t *Tree) newNode(name string) *node {
	now := t.now()
	return &node{name: name, since: now, changed: now, parts: map[string]*node{}}
}

// set stores a reported state; t.mu is held.
func (t *Tree) set(n *node, s State, reason string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if n.closed || n.reported && n.state == s && n.reason == reason && n.err == text {
		return
	}
	now := t.now()
	if n.state != s {
		n.since = now
	}
	n.state, n.reason, n.err, n.changed, n.reported = s, reason, text, now, true
	t.update()
}

// update recomputes the state of the agent after a change; t.mu is held.
func (t *Tree) update() {
	t.tellWatchers()
	s := OK
	for _, n := range t.plugins {
		s = worst(s, n.total())
	}
	if s != t.state {
		t.state, t.changed = s, t.now()
	}
}

// total is the worst state of a node and its parts. A plugin that has parts
// and reported nothing about itself has the state of its parts.
func (n *node) total() State { return n.without("", nil) }

type reporter struct {
	t      *Tree
	n      *node
	parent *node // nil for a plugin
}

func (r reporter) Starting(reason string) { r.report(Init, reason, nil) }

func (r reporter) OK(msg string) { r.report(OK, msg, nil) }

func (r reporter) Degraded(reason string, err error) { r.report(Degraded, reason, err) }

func (r reporter) Failed(reason string, err error) { r.report(Error, reason, err) }

func (r reporter) report(s State, reason string, err error) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.t.set(r.n, s, reason, err)
}

func (r reporter) Scope(name string) Reporter {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	p := r.n.parts[name]
	if p == nil {
		p = r.t.newNode(name)
		p.state = OK // a part is OK until it reports otherwise
		if r.n.closed {
			p.closed = true
		} else {
			r.n.parts[name] = p
		}
	}
	return reporter{r.t, p, r.n}
}

func (r reporter) Close() {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if r.n.closed {
		return
	}
	r.n.close()
	if r.parent != nil {
		delete(r.parent.parts, r.n.name)
	} else {
		delete(r.t.plugins, r.n.name)
	}
	r.t.update()
}

func (n *node) close() {
	n.closed = true
	for _, p := range n.parts {
		p.close()
	}
}

// Status is a snapshot of one plugin or part.
type Status struct {
	Name   string `json:"name"`
	State  State  `json:"state"` // the worst of its own state and the states of its parts
	Own    State  `json:"-"`
	Reason string `json:"reason,omitempty"` // of the own state
	Error  string `json:"error,omitempty"`
	// Since is when the own state was entered, LastChange when it, the reason
	// or the error changed last.
	Since      time.Time `json:"since"`
	LastChange time.Time `json:"last_change"`
	// CausedBy is the path of the cause: the part of this plugin, or the plugin
	// it depends on, that reported the failure itself.
	CausedBy []string `json:"caused_by,omitempty"`
	Parts    []Status `json:"parts,omitempty"`
}

// Snapshot is the tree at one moment.
type Snapshot struct {
	State      State     `json:"state"` // the worst of all plugins
	Started    time.Time `json:"started"`
	LastChange time.Time `json:"last_change"` // of State
	Taken      time.Time `json:"taken"`
	Plugins    []Status  `json:"plugins"` // sorted by name
}

// Snapshot returns the states of all plugins. Plugins named by ignore are
// listed, but do not affect the state of the agent.
func (t *Tree) Snapshot(ignore ...string) Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Snapshot{State: OK, Started: t.started, LastChange: t.changed, Taken: t.now()}
	for _, name := range slices.Sorted(maps.Keys(t.plugins)) {
		status := t.plugins[name].status()
		if !status.State.Well() {
			status.CausedBy = t.causes(name)
		}
		if !slices.Contains(ignore, name) {
			s.State = worst(s.State, status.State)
		}
		s.Plugins = append(s.Plugins, status)
	}
	return s
}

func (n *node) status() Status {
	s := Status{
		Name: n.name, State: n.total(), Own: n.state, Reason: n.reason, Error: n.err,
		Since: n.since, LastChange: n.changed,
	}
	for _, name := range slices.Sorted(maps.Keys(n.parts)) {
		s.Parts = append(s.Parts, n.parts[name].status())
	}
	return s
}

// StateWithout returns the worst state of the agent, ignoring the plugins
// ("plugin") and parts ("plugin/part") that leaveOut names.
func (t *Tree) StateWithout(leaveOut ...string) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := OK
	for name, n := range t.plugins {
		if !slices.Contains(leaveOut, name) {
			s = worst(s, n.without(name, leaveOut))
		}
	}
	return s
}

// without is total, ignoring the parts that leaveOut names.
func (n *node) without(path string, leaveOut []string) State {
	s := n.state
	if !n.reported && len(n.parts) > 0 {
		s = OK
	}
	for name, p := range n.parts {
		if at := path + "/" + name; !slices.Contains(leaveOut, at) {
			s = worst(s, p.without(at, leaveOut))
		}
	}
	return s
}

// causes follows the dependencies of a plugin that is not well, down to those
// that are not well and have no cause among their own dependencies. If there
// are none, the parts that are not well are the cause.
func (t *Tree) causes(name string) []string {
	found := map[string]bool{}
	seen := map[string]bool{name: true}
	var follow func(string)
	follow = func(name string) {
		for _, dep := range t.deps[name] {
			n := t.plugins[dep]
			if seen[dep] || n == nil {
				continue
			}
			seen[dep] = true
			before := len(found)
			follow(dep)
			if len(found) == before && n.total().severity() > Init.severity() {
				found[dep] = true
			}
		}
	}
	follow(name)
	if len(found) == 0 {
		for part, p := range t.plugins[name].parts {
			if !p.total().Well() {
				found[name+"/"+part] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Changes returns a channel that receives a value after the tree has changed. It
// may merge several changes into one value. cancel ends it.
func (t *Tree) Changes() (changed <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers[ch] = true
	return ch, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watchers, ch)
	}
}

// tellWatchers notifies the watchers; t.mu is held.
func (t *Tree) tellWatchers() {
	for ch := range t.watchers {
		select {
		case ch <- struct{}{}:
		default: // a notification is already pending
		}
	}
}
