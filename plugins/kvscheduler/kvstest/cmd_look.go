package kvstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/render"
)

// cmdStatus prints the state of values: status [KEY...]; without keys the state
// of all values, derived ones indented.
func cmdStatus(r *Run, args []string) (string, error) {
	var list []*api.BaseValueStatus
	for _, key := range args {
		list = append(list, r.Scheduler.GetValueStatus(key))
	}
	if len(args) == 0 {
		list = r.Scheduler.ListValueStatus("")
	}
	var text strings.Builder
	for _, s := range list {
		text.WriteString(statusText(s))
	}
	return text.String(), nil
}

func statusText(s *api.BaseValueStatus) string {
	text := valueStatus("", s.GetValue())
	for _, d := range s.GetDerivedValues() {
		text += valueStatus("  ", d)
	}
	return text
}

func valueStatus(indent string, s *api.ValueStatus) string {
	text := fmt.Sprintf("%s%s %v", indent, s.GetKey(), s.GetState())
	if details := s.GetDetails(); len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	if s.GetError() != "" {
		text += ": " + strings.ReplaceAll(s.GetError(), "\n", "; ")
	}
	return text + "\n"
}

// watch collects status updates.
type watch struct {
	mu      sync.Mutex
	updates map[string]*api.BaseValueStatus
	more    chan struct{} // buffered: there are new updates
}

// cmdWatch begins to collect status updates.
func cmdWatch(r *Run, _ []string) (string, error) {
	if r.watch != nil {
		return "", errors.New("already watching")
	}
	w := &watch{updates: map[string]*api.BaseValueStatus{}, more: make(chan struct{}, 1)}
	r.watch = w
	updates := make(chan *api.BaseValueStatus)
	cancel := r.Scheduler.WatchValueStatus(updates, nil)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case s := <-updates:
				w.mu.Lock()
				w.updates[s.GetValue().GetKey()] = s
				w.mu.Unlock()
				select {
				case w.more <- struct{}{}:
				default:
				}
			case <-done:
				return
			}
		}
	})
	r.T.Cleanup(func() {
		cancel()
		close(done)
		wg.Wait()
	})
	return "", nil
}

// cmdChanges prints the latest status of the values given, once all of them
// were updated since the last time: changes KEY...
func cmdChanges(r *Run, args []string) (string, error) {
	if r.watch == nil {
		return "", errors.New("not watching")
	}
	deadline := time.After(patience)
	for !r.watch.has(args) {
		select {
		case <-r.watch.more:
		case <-deadline:
			return fmt.Sprintf("no update of all of them within %v", patience), nil
		}
	}
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	var text strings.Builder
	for _, key := range args {
		text.WriteString(statusText(r.watch.updates[key]))
		delete(r.watch.updates, key)
	}
	return text.String(), nil
}

func (w *watch) has(keys []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(keys, func(key string) bool { return w.updates[key] == nil })
}

// cmdDump prints values: dump SB|NB|cached DESCRIPTOR.
func cmdDump(r *Run, args []string) (string, error) {
	if len(args) != 2 {
		return "", errors.New("expected a view and a descriptor")
	}
	view, err := api.ParseView(args[0])
	if err != nil {
		return "", err
	}
	kvs, err := r.Scheduler.DumpValuesByDescriptor(args[1], view)
	if err != nil {
		return "error: " + err.Error(), nil
	}
	var text strings.Builder
	for _, kv := range kvs {
		fmt.Fprintf(&text, "%s %s %v", kv.Key, record.ValueText(kv.Value), kv.Origin)
		if m, ok := kv.Metadata.(*Meta); ok && m != nil {
			fmt.Fprintf(&text, " handle %d", m.Handle)
		}
		text.WriteByte('\n')
	}
	return text.String(), nil
}

// cmdMetadata prints the metadata map of a descriptor.
func cmdMetadata(r *Run, args []string) (string, error) {
	if len(args) != 1 {
		return "", errors.New("expected a descriptor")
	}
	m, err := idxmap.Of[*Meta](r.Scheduler.GetMetadataMap(args[0]))
	if err != nil {
		return "error: " + err.Error(), nil
	}
	var text strings.Builder
	for label, meta := range m.All() {
		fmt.Fprintf(&text, "%s handle %d\n", label, meta.Handle)
	}
	return text.String(), nil
}

// cmdWhy prints what a value waits for.
func cmdWhy(r *Run, args []string) (string, error) {
	if len(args) != 1 {
		return "", errors.New("expected a key")
	}
	e := r.Scheduler.Explain(args[0])
	if e == nil {
		return "unknown", nil
	}
	var text strings.Builder
	err := render.Tree(&text, e, time.Time{})
	return text.String(), err
}

// cmdValidate prints what is wrong with values.
func cmdValidate(r *Run, args []string) (string, error) {
	changes, err := r.values(args)
	if err != nil {
		return "", err
	}
	var messages []proto.Message
	for _, c := range changes {
		messages = append(messages, c.value)
	}
	if err := r.Scheduler.ValidateSemantically(messages); err != nil {
		return "error: " + err.Error(), nil
	}
	return "valid", nil
}
