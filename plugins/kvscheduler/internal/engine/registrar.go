package engine

import (
	"errors"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// registrar registers descriptors. All methods may be called concurrently.
type registrar struct {
	*state
	*admission
	report func([]registry.Refusal) // nil disables it

	register sync.Mutex // one registration at a time
	watchMu  sync.Mutex
	waiting  map[string][]chan struct{} // by the prefix whose registration they wait for
}

func newRegistrar(st *state, a *admission, report func([]registry.Refusal)) *registrar {
	return &registrar{state: st, admission: a, report: report, waiting: map[string][]chan struct{}{}}
}

// RegisterKVDescriptor implements api.Registrar.
func (r *registrar) RegisterKVDescriptor(descriptors ...*api.KVDescriptor) error {
	r.register.Lock()
	defer r.register.Unlock()
	before := r.registry.Load()
	next, err := before.With(descriptors)
	r.registry.Store(next)
	r.reportRefused(next.Refused(), len(before.Refused()))
	var prefixes []string
	for _, d := range descriptors {
		if d != nil && d.NBKeyPrefix != "" && next.ByName(d.Name) != nil {
			prefixes = append(prefixes, d.NBKeyPrefix)
		}
	}
	r.wakeRegistrationWatchers(prefixes)
	if r.hasUnimplemented() {
		err = errors.Join(err, r.push(descriptorRegistered{}))
	}
	return err
}

// CheckDescriptors returns an error for references to descriptors that are not
// registered. Call it after the initialization of all plugins.
func (r *registrar) CheckDescriptors() error { return r.registry.Load().Check() }

// reportRefused logs the refusals after the first known ones, and reports all of them,
// since plugins may ignore the error of RegisterKVDescriptor.
func (r *registrar) reportRefused(all []registry.Refusal, known int) {
	for _, refusal := range all[known:] {
		r.log.Error("descriptor refused: its values will be INVALID", "descriptor", refusal.Name, "error", refusal.Err)
	}
	if r.report != nil && len(all) > known {
		r.report(all)
	}
}

// hasUnimplemented reports whether there are values without a descriptor.
func (st *state) hasUnimplemented() bool {
	st.mu.RLock()
	defer st.mu.RUnlock()
	found := false
	st.graph.Nodes(func(n *graph.Node) bool {
		found = n.Desc == nil && n.Base == nil
		return !found
	})
	return found
}

// WatchNBKeyPrefixRegistration implements api.Registrar.
func (r *registrar) WatchNBKeyPrefixRegistration(prefix string) (<-chan struct{}, error) {
	r.watchMu.Lock()
	defer r.watchMu.Unlock()
	ch := make(chan struct{})
	if r.registry.Load().ByNBKeyPrefix(prefix) != nil {
		close(ch)
		return ch, api.ErrDescriptorExists
	}
	r.waiting[prefix] = append(r.waiting[prefix], ch)
	return ch, nil
}

func (r *registrar) wakeRegistrationWatchers(prefixes []string) {
	r.watchMu.Lock()
	defer r.watchMu.Unlock()
	for _, prefix := range prefixes {
		for _, ch := range r.waiting[prefix] {
			close(ch)
		}
		delete(r.waiting, prefix)
	}
}
