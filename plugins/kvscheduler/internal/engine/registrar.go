package engine

import (
	"errors"
	"slices"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// registrar registers descriptors. All methods may be called concurrently.
type registrar struct {
	*shared

	register sync.Mutex // one registration at a time
	watchMu  sync.Mutex
	waiting  map[string][]chan struct{} // by the prefix whose registration they wait for
}

func (r *registrar) RegisterKVDescriptor(descriptors ...*api.KVDescriptor) error {
	r.register.Lock()
	defer r.register.Unlock()
	before := r.state.registry.Load()
	next, err := before.With(descriptors)
	r.state.registry.Store(next)
	r.reportRefused(next.Refused, len(before.Refused))
	var prefixes []string
	for _, d := range descriptors {
		if d != nil && d.NBKeyPrefix != "" && next.ByName(d.Name) != nil {
			prefixes = append(prefixes, d.NBKeyPrefix)
			r.reportUnreadable(before, next.ByName(d.Name))
		}
	}
	r.wakeRegistrationWatchers(prefixes)
	if r.state.hasUnimplemented() {
		err = errors.Join(err, r.admission.push(&unimplemented{work{typ: api.RetryUnimplOps, plan: r.prepareUnimplemented}}))
	}
	return err
}

// reportUnreadable logs once that the values of a new descriptor are not read back.
func (r *registrar) reportUnreadable(before *registry.Registry, d *registry.Descriptor) {
	if d.Retrieve == nil && d.Create != nil && before.ByName(d.Name) == nil {
		r.log.Info("descriptor has no Retrieve: a resync assumes that its values are as the agent left them, "+
			"and neither finds nor repairs what another program changed", "descriptor", d.Name)
	}
}

// reportRefused logs the refusals after the first known ones, and reports all of them,
// since plugins may ignore the error of RegisterKVDescriptor.
func (r *registrar) reportRefused(all []registry.Refusal, known int) {
	for _, refusal := range all[known:] {
		r.log.Error("descriptor refused: its values will be INVALID", "descriptor", refusal.Name, "error", refusal.Err)
	}
	if len(all) > known {
		r.conditions.Refused(all)
	}
}

func (r *registrar) WatchNBKeyPrefixRegistration(prefix string) (<-chan struct{}, error) {
	r.watchMu.Lock()
	defer r.watchMu.Unlock()
	ch := make(chan struct{})
	if r.state.registry.Load().ByNBKeyPrefix(prefix) != nil {
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

func (r *registrar) GetRegisteredNBKeyPrefixes() []string {
	var prefixes []string
	for _, d := range r.state.registry.Load().All {
		if d.NBKeyPrefix != "" {
			prefixes = append(prefixes, d.NBKeyPrefix)
		}
	}
	slices.Sort(prefixes)
	return slices.Compact(prefixes)
}

func (r *registrar) GetMetadataMap(descriptor string) idxmap.Reader {
	return r.state.registry.Load().MetadataReader(descriptor)
}

// prepareUnimplemented applies values that had no descriptor before its registration.
func (r *registrar) prepareUnimplemented(p *transaction) bool {
	reg := r.state.registry.Load()
	for n := range r.state.graph.Nodes {
		if n.Desc != nil || n.Base != nil || n.Want == nil {
			continue
		}
		if d, err := reg.Lookup(n.Key); d != nil && err == nil {
			p.request.Changes = append(p.request.Changes, plan.Change{Key: n.Key, Desc: d, Want: reg.Wanted(n.Key, d, n.Want.Msg)})
			p.values = append(p.values, api.RecordedKVPair{Key: n.Key, Value: n.Want.Msg, Origin: api.FromNB})
		}
	}
	return len(p.request.Changes) > 0
}
