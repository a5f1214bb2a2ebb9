package nsplugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/internal/containers"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
)

// A container that runs is a value of the southbound, with the key nsmodel.MicroserviceKey.
// The items in its network namespace depend on it. When the container stops, its namespace
// is gone with all that was in it; when it runs again, the value is removed and added, so
// that the items are created again.

// Microservice is the metadata of a container.
type Microservice struct {
	Label string
	ID    string // of the container
	PID   int    // of a process in its network namespace
}

// A source that cannot be followed is tried again after firstRetry, then after twice as
// long, up to maxRetry.
const (
	firstRetry = 200 * time.Millisecond
	maxRetry   = 5 * time.Second
)

// microservices follows containers.
type microservices struct {
	log     logging.Logger
	index   *containers.Index
	sources []*followed
	notify  func(...kvs.KVWithMetadata) error
	stopped func()          // called when a container has stopped
	state   State           // nil: nothing is kept over a restart
	health  health.Reporter // nil: none

	mu     sync.Mutex        // guards the fields below, and the order of changes
	starts map[string]string // of the processes of containers, by ID; empty: unknown
	told   map[string]bool   // parts of the health that are not well
}

// followed is a source of containers.
type followed struct {
	containers.Source
	tried chan struct{} // closed when the containers were listed, or that failed

	mu     sync.Mutex
	err    error // nil: it is followed
	since  time.Time
	listed bool     // it has listed its containers since the start
	kept   []string // labels of containers that it no longer lists, whose processes run
}

// absent reports whether the source does not exist, as on hosts without a container engine.
func (s *followed) absent() bool { return errors.Is(s.err, fs.ErrNotExist) || s.err == errNotAsked }

var errNotAsked = errors.New("not asked yet")

func newMicroservices(log logging.Logger, sources []containers.Source) *microservices {
	m := &microservices{log: log, index: containers.NewIndex(), stopped: func() {}, starts: map[string]string{}, told: map[string]bool{}}
	for _, s := range sources {
		m.sources = append(m.sources, &followed{Source: s, tried: make(chan struct{}), err: errNotAsked, since: time.Now()})
	}
	return m
}

// descriptor returns the descriptor of the containers.
func (m *microservices) descriptor() *kvs.KVDescriptor {
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, *Microservice]{
		Name:            nsmodel.MicroserviceDescriptor,
		Southbound:      Southbound,
		KeySelector:     func(key string) bool { return strings.HasPrefix(key, nsmodel.MicroserviceKey.Prefix()) },
		KeyLabel:        func(key string) string { return strings.TrimPrefix(key, nsmodel.MicroserviceKey.Prefix()) },
		WithMetadata:    true,
		RetrieveContext: m.retrieve,
		Absent:          m.absent,
	})
}

// retrieve waits for the first answer of each source. A source that cannot be followed has
// the containers that it had last.
func (m *microservices) retrieve(ctx context.Context, _ []kvs.KV[*emptypb.Empty, *Microservice]) ([]kvs.KV[*emptypb.Empty, *Microservice], error) {
	for _, s := range m.sources {
		select {
		case <-s.tried:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	all := m.index.All()
	out := make([]kvs.KV[*emptypb.Empty, *Microservice], len(all))
	for i, c := range all {
		out[i] = kvs.KV[*emptypb.Empty, *Microservice]{
			Key: nsmodel.MicroserviceKey.Key(c.Label), Value: &emptypb.Empty{}, Metadata: &Microservice{c.Label, c.ID, c.PID}, Origin: kvs.FromSB,
		}
	}
	return out, nil
}

// absent says why there is no container with a label.
func (m *microservices) absent(key string) string {
	label := strings.TrimPrefix(key, nsmodel.MicroserviceKey.Prefix())
	if len(m.sources) == 0 {
		return fmt.Sprintf("no container with the label %q is known, because linux-nsplugin.conf has no docker-socket, cri-socket or microservices-file", label)
	}
	text := fmt.Sprintf("no container runs with %s=%s in its environment", containers.EnvVariable, label)
	for _, s := range m.sources {
		s.mu.Lock()
		if s.err != nil {
			text += fmt.Sprintf("; %s is not available since %s: %v", s, s.since.Format(time.TimeOnly), s.err)
		}
		s.mu.Unlock()
	}
	return text
}

// run follows a source until ctx ends.
func (m *microservices) run(ctx context.Context, s *followed) {
	pause := firstRetry
	for {
		err := s.Follow(ctx, func(u containers.Update) {
			pause = firstRetry
			m.apply(s, u, true)
			m.tellHealth()
		})
		if ctx.Err() != nil {
			return
		}
		if s.note(err) && !errors.Is(err, fs.ErrNotExist) { // many hosts have no container engine
			m.log.Warn("containers that start or stop are not noticed; trying again", "source", s.String(), "error", err)
		}
		m.tellHealth()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxRetry)
	}
}

// note notes whether a source is followed. It reports whether that changed.
func (s *followed) note(err error) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.tried:
		changed = (err == nil) != (s.err == nil)
	default:
		close(s.tried)
		changed = true
	}
	if changed {
		s.since = time.Now()
	}
	s.err = err
	s.listed = s.listed || err == nil
	return changed
}

// noteKept records the containers that a source does not list although their processes run, after
// a list or another update.
func (m *microservices) noteKept(s *followed, all bool, kept []string) {
	known := m.index.Of(s.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if !all {
		s.kept = slices.DeleteFunc(s.kept, func(label string) bool {
			return !slices.ContainsFunc(known, func(c containers.Container) bool { return c.Label == label })
		})
		return
	}
	if len(kept) > 0 && len(s.kept) == 0 {
		m.log.Warn("no containers are listed, but the processes of some run; they are kept until these end", "source", s.String(), "labels", strings.Join(kept, ", "))
	}
	s.kept = kept
}

// apply notifies the scheduler of changes. listed reports that the source is followed.
func (m *microservices) apply(s *followed, u containers.Update, listed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, kept := m.keepRunning(s, u)
	changes, shadowed := m.index.Apply(s.String(), u)
	m.noteKept(s, u.All, kept)
	if len(changes) > 0 {
		m.save()
	}
	if listed && s.note(nil) { // the index has its containers by now, for retrieve
		m.log.Info("containers are followed", "source", s.String())
	}
	for _, c := range shadowed {
		used, _ := m.index.Lookup(c.Label)
		m.log.Warn("two containers have one label; the first one is used", "label", c.Label, "used", used.ID, "ignored", c.ID)
	}
	var news []kvs.KVWithMetadata
	for _, c := range changes {
		key := nsmodel.MicroserviceKey.Key(c.Label)
		if c.Was != nil {
			m.log.Info("container stopped", "label", c.Label, "container", c.Was.ID)
			m.stopped()
			news = append(news, kvs.KVWithMetadata{Key: key})
		}
		if c.Now != nil {
			m.log.Info("container runs", "label", c.Label, "container", c.Now.ID, "pid", c.Now.PID)
			news = append(news, kvs.KVWithMetadata{
				Key: key, Value: &emptypb.Empty{}, Metadata: &Microservice{c.Label, c.Now.ID, c.Now.PID}, Origin: kvs.FromSB,
			})
		}
	}
	if err := m.notify(news...); err != nil {
		m.log.Debug("containers were not reported", "error", err)
	}
}
