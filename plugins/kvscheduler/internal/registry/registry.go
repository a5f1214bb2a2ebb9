package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Registry is an immutable set of descriptors. With returns larger ones, so
// readers never need a lock.
type Registry struct {
	byName   map[string]*Descriptor
	byPrefix map[string]*Descriptor // by NBKeyPrefix with a trailing slash
	breach   func(descriptor, key, problem string)

	// All are the descriptors, sorted by name.
	All []*Descriptor
	// RetrieveOrder has each of them after those that it names in RetrieveDependencies.
	RetrieveOrder []*Descriptor
	// Refused are the descriptors that could not be registered, in the order in which that
	// was tried.
	Refused []Refusal
}

// New returns an empty registry. It calls breach, which may be nil, for each value for which
// a descriptor breaks its contract.
func New(breach func(descriptor, key, problem string)) *Registry {
	return &Registry{byName: map[string]*Descriptor{}, byPrefix: map[string]*Descriptor{}, breach: breach}
}

// With returns a registry that also has the given descriptors. Descriptors
// with errors are left out, see Refused; the errors are joined. Names in
// RetrieveDependencies may be registered later; see Check.
func (r *Registry) With(descriptors []*api.KVDescriptor) (*Registry, error) {
	next := &Registry{
		byName:   map[string]*Descriptor{},
		byPrefix: map[string]*Descriptor{},
		All:      slices.Clone(r.All),
		Refused:  slices.Clone(r.Refused),
		breach:   r.breach,
	}
	for _, d := range r.All {
		next.index(d)
	}
	var errs []error
	for _, kd := range descriptors {
		if err := next.add(kd); err != nil {
			errs = append(errs, err)
			next.refuse(kd, err)
		}
	}
	slices.SortFunc(next.All, func(a, b *Descriptor) int { return strings.Compare(a.Name, b.Name) })
	order, cycle := next.retrieveOrder()
	if cycle != nil {
		err := fmt.Errorf("RetrieveDependencies form a cycle: %s", strings.Join(cycle, " -> "))
		return r.without(descriptors, err), errors.Join(append(errs, err)...)
	}
	next.RetrieveOrder = order
	return next, errors.Join(errs...)
}

func (r *Registry) index(d *Descriptor) {
	r.byName[d.Name] = d
	if strings.HasSuffix(d.NBKeyPrefix, "/") {
		r.byPrefix[d.NBKeyPrefix] = d
	}
}

func (r *Registry) add(kd *api.KVDescriptor) error {
	if err := check(kd); err != nil {
		return err
	}
	if r.byName[kd.Name] != nil {
		return fmt.Errorf("descriptor %q: %w", kd.Name, api.ErrDescriptorExists)
	}
	if err := r.checkOverlap(kd); err != nil {
		return err
	}
	d := r.newDescriptor(kd)
	if kd.WithMetadata {
		if err := try(kd.Name, "MetadataMapFactory", func() { d.Metadata = api.NewMetadataMap(kd) }); err != nil {
			return err
		}
	}
	r.All = append(r.All, d)
	r.index(d)
	return nil
}

// check finds what is wrong with a descriptor on its own.
func check(d *api.KVDescriptor) error {
	if d == nil {
		return errors.New("descriptor is nil")
	}
	if d.Name == "" {
		return errors.New("descriptor without a Name: set a name that is unique among all descriptors")
	}
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("descriptor %q: "+format, append([]any{d.Name}, args...)...))
	}
	if d.KeySelector == nil {
		fail("KeySelector is nil: it must select the keys that are described")
	}
	for _, forms := range d.GivenTwice() {
		fail("%s are given: keep one of them; those with a context can end when they are given up", forms)
	}
	c := d.WithContexts()
	switch {
	case c.CreateContext != nil && c.DeleteContext == nil:
		fail("Create without Delete: what can be created must be removable")
	case c.CreateContext == nil && c.DeleteContext != nil:
		fail("Delete without Create: leave both nil for properties")
	case c.CreateContext == nil && c.UpdateContext != nil:
		fail("Update without Create")
	}
	if d.Vacate != nil && (d.Identities == nil || c.UpdateContext == nil) {
		fail("Vacate without Identities or without Update: it needs both")
	}
	if d.MetadataMapFactory != nil && !d.WithMetadata {
		fail("MetadataMapFactory without WithMetadata")
	}
	switch {
	case d.Concurrency < 0:
		fail("Concurrency is %d: expected 0 (one at a time) or more", d.Concurrency)
	case d.Concurrency < 2 && d.Batches():
		fail("Concurrency is %d and a callback takes batches: expected 2 or more, because each value of a batch counts", d.Concurrency)
	}
	if slices.Contains(d.RetrieveDependencies, d.Name) {
		fail("RetrieveDependencies name the descriptor itself")
	}
	return errors.Join(errs...)
}

// sampleKey is a key that the descriptor should select, as far as that can be
// guessed from its prefix.
func sampleKey(d *api.KVDescriptor) string {
	if strings.HasSuffix(d.NBKeyPrefix, "/") {
		return d.NBKeyPrefix + "x"
	}
	return d.NBKeyPrefix
}

func (r *Registry) checkOverlap(kd *api.KVDescriptor) error {
	for _, other := range r.All {
		if other.NBKeyPrefix != "" && other.KeySelector(sampleKey(other.KVDescriptor)) && kd.KeySelector(sampleKey(other.KVDescriptor)) {
			return overlapError(kd.Name, other.Name, sampleKey(other.KVDescriptor))
		}
		if kd.NBKeyPrefix != "" && kd.KeySelector(sampleKey(kd)) && other.KeySelector(sampleKey(kd)) {
			return overlapError(kd.Name, other.Name, sampleKey(kd))
		}
	}
	return nil
}

func overlapError(a, b, key string) error {
	return fmt.Errorf("descriptor %q: KeySelector overlaps descriptor %q: both select %q; "+
		"a key must be described once", a, b, key)
}

// Lookup returns the descriptor of a key, or nil. The error says that two
// descriptors claim it, that one might that panicked, or that its descriptor was
// refused.
func (r *Registry) Lookup(key string) (*Descriptor, error) {
	for i := len(key) - 1; i > 0; i-- {
		if key[i] != '/' {
			continue
		}
		if d := r.byPrefix[key[:i+1]]; d != nil && d.KeySelector(key) {
			return d, nil
		}
	}
	var found *Descriptor
	var broken error
	for _, d := range r.All {
		if yes, err := selects(d.raw, key); err != nil {
			broken = cmp.Or(broken, fmt.Errorf("descriptor %q: %w", d.Name, err))
			continue
		} else if !yes {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("key %q is claimed by two descriptors: %q and %q", key, found.Name, d.Name)
		}
		found = d
	}
	if found == nil {
		return nil, cmp.Or(broken, r.refusedFor(key))
	}
	return found, nil
}

// ByName returns a descriptor, or nil.
func (r *Registry) ByName(name string) *Descriptor { return r.byName[name] }

// ByNBKeyPrefix returns the descriptor with exactly that prefix, or nil.
func (r *Registry) ByNBKeyPrefix(prefix string) *Descriptor {
	for _, d := range r.All {
		if d.NBKeyPrefix == prefix && prefix != "" {
			return d
		}
	}
	return nil
}

// Check reports RetrieveDependencies that name no registered descriptor. It
// is called once all plugins have registered theirs.
func (r *Registry) Check() error {
	var errs []error
	for _, d := range r.All {
		for _, name := range d.RetrieveDependencies {
			if r.byName[name] == nil {
				errs = append(errs, fmt.Errorf("descriptor %q: RetrieveDependencies name %q, which is not registered", d.Name, name))
			}
		}
	}
	return errors.Join(errs...)
}

// retrieveOrder sorts topologically; the second result is a cycle.
func (r *Registry) retrieveOrder() (order []*Descriptor, cycle []string) {
	const visiting, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(d *Descriptor) bool
	visit = func(d *Descriptor) bool {
		switch state[d.Name] {
		case done:
			return true
		case visiting:
			cycle = append(slices.Clone(path[slices.Index(path, d.Name):]), d.Name)
			return false
		}
		state[d.Name] = visiting
		path = append(path, d.Name)
		for _, name := range d.RetrieveDependencies {
			if dep := r.byName[name]; dep != nil && !visit(dep) {
				return false
			}
		}
		path = path[:len(path)-1]
		state[d.Name] = done
		order = append(order, d)
		return true
	}
	for _, d := range r.All {
		if !visit(d) {
			return nil, cycle
		}
	}
	return order, nil
}

// MetadataReader returns the metadata map of a descriptor as plugins see it.
func (r *Registry) MetadataReader(name string) idxmap.Reader {
	if d := r.byName[name]; d != nil && d.Metadata != nil {
		return d.Metadata
	}
	return nil
}

// Refusal is a descriptor that could not be registered.
type Refusal struct {
	// Name is the name of the descriptor; empty if it has none.
	Name string
	// Err says what is wrong with it and names it.
	Err error

	descriptor *api.KVDescriptor // nil if the descriptor is nil
}

// refuse remembers a descriptor that was not added.
func (r *Registry) refuse(kd *api.KVDescriptor, err error) {
	refusal := Refusal{Err: err, descriptor: kd}
	if kd != nil {
		refusal.Name = kd.Name
	}
	r.Refused = append(r.Refused, refusal)
}

// without returns the registry as it was, with the descriptors refused for the
// same reason.
func (r *Registry) without(descriptors []*api.KVDescriptor, reason error) *Registry {
	same := *r
	same.Refused = slices.Clone(r.Refused)
	for _, kd := range descriptors {
		err := reason
		if kd != nil {
			err = fmt.Errorf("descriptor %q: %w", kd.Name, reason)
		}
		same.refuse(kd, err)
	}
	return &same
}

// refusedFor is the error of a key that a refused descriptor selects; nil if there
// is no such descriptor.
func (r *Registry) refusedFor(key string) error {
	for _, refusal := range r.Refused {
		kd := refusal.descriptor
		if kd == nil || kd.KeySelector == nil {
			continue
		}
		if yes, err := selects(kd, key); yes && err == nil {
			return fmt.Errorf("the descriptor of this key was refused at registration: %w", refusal.Err)
		}
	}
	return nil
}
