// Package containers finds the network namespaces of containers by their labels. A Source
// reports which containers run, and an Index knows which of them has a label.
//
// A container has the label that its environment variable MICROSERVICE_LABEL or, without
// it, its label of the container engine with the name microservice-label has.
package containers

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The names of the variable and of the label of the container engine.
const (
	EnvVariable = "MICROSERVICE_LABEL"
	EngineLabel = "microservice-label"
)

// Container is a running container that has a label.
type Container struct {
	Label string
	ID    string // unique among the containers of all sources
	PID   int    // of a process in its network namespace
}

// Namespace returns the file that stands for the network namespace.
func (c Container) Namespace() string { return "/proc/" + strconv.Itoa(c.PID) + "/ns/net" }

// Update reports about containers of a source.
type Update struct {
	// All reports that no other containers of the source run.
	All     bool
	Running []Container
	Stopped []string // IDs
}

// Source follows the containers of a container engine or a file.
type Source interface {
	// Follow reports all containers that run, and every change from then on. It returns
	// why it ended: the error of ctx, or of the source, which may be followed again.
	Follow(ctx context.Context, report func(Update)) error
	// String names the source in messages.
	String() string
}

// labelOf returns the label of a container with an environment and labels of its engine.
func labelOf(env []string, labels map[string]string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, EnvVariable+"="); ok {
			return value
		}
	}
	return labels[EngineLabel]
}

// Change is the change of the container that has a label.
type Change struct {
	Label string
	Was   *Container // nil: none had it
	Now   *Container // nil: none has it
}

// Index knows which container has a label. If there are several, the one that was reported
// first has it, until it stops. All methods may be called concurrently.
type Index struct {
	mu      sync.Mutex
	byLabel map[string][]Container
	labels  map[string]string // by ID
	sources map[string]string // by ID
}

// NewIndex returns an index without containers.
func NewIndex() *Index {
	return &Index{byLabel: map[string][]Container{}, labels: map[string]string{}, sources: map[string]string{}}
}

// Lookup returns the container with a label.
func (x *Index) Lookup(label string) (Container, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := x.byLabel[label]
	if len(all) == 0 {
		return Container{}, false
	}
	return all[0], true
}

// All returns the container of each label, sorted by label.
func (x *Index) All() []Container {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Container, 0, len(x.byLabel))
	for _, all := range x.byLabel {
		out = append(out, all[0])
	}
	slices.SortFunc(out, func(a, b Container) int { return strings.Compare(a.Label, b.Label) })
	return out
}

// Of returns the containers of a source, sorted by ID, also those that have no label because
// another one has it.
func (x *Index) Of(source string) []Container {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []Container
	for _, all := range x.byLabel {
		for _, c := range all {
			if x.sources[c.ID] == source {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b Container) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Apply applies an update of a source. It returns the changes, in the order of the update,
// and the containers that have no label because another one has it.
func (x *Index) Apply(source string, u Update) (changes []Change, shadowed []Container) {
	x.mu.Lock()
	defer x.mu.Unlock()
	stopped := u.Stopped
	if u.All {
		stopped = append(slices.Clone(stopped), x.missing(source, u.Running)...)
	}
	before := map[string]*Container{}
	var touched []string
	touch := func(label string) {
		if _, again := before[label]; !again {
			before[label] = x.first(label)
			touched = append(touched, label)
		}
	}
	for _, id := range stopped {
		if label, known := x.labels[id]; known {
			touch(label)
			x.remove(id)
		}
	}
	for _, c := range u.Running {
		if label, known := x.labels[c.ID]; known {
			if slices.Contains(x.byLabel[label], c) {
				continue
			}
			touch(label)
			x.remove(c.ID)
		}
		touch(c.Label)
		if x.byLabel[c.Label] = append(x.byLabel[c.Label], c); len(x.byLabel[c.Label]) > 1 {
			shadowed = append(shadowed, c)
		}
		x.labels[c.ID], x.sources[c.ID] = c.Label, source
	}
	for _, label := range touched {
		was, now := before[label], x.first(label)
		if was != now && (was == nil || now == nil || *was != *now) {
			changes = append(changes, Change{label, was, now})
		}
	}
	return changes, shadowed
}

// missing returns the IDs of the containers of a source that are not among those that run.
func (x *Index) missing(source string, running []Container) (ids []string) {
	runs := make(map[string]bool, len(running))
	for _, c := range running {
		runs[c.ID] = true
	}
	for id, of := range x.sources {
		if of == source && !runs[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (x *Index) first(label string) *Container {
	if all := x.byLabel[label]; len(all) > 0 {
		c := all[0]
		return &c
	}
	return nil
}

func (x *Index) remove(id string) {
	label := x.labels[id]
	left := slices.DeleteFunc(x.byLabel[label], func(c Container) bool { return c.ID == id })
	if len(left) == 0 {
		delete(x.byLabel, label)
	} else {
		x.byLabel[label] = left
	}
	delete(x.labels, id)
	delete(x.sources, id)
}
