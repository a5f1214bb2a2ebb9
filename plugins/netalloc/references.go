package netalloc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/netalloc/model"
)

// Registrar returns a registrar of descriptors whose values may refer to allocated addresses in
// every field that is annotated as an address (ligato_options), except in own fields of the
// value, which the descriptors resolve themselves. The descriptors see addresses alone: a value
// waits for what it refers to, and is checked as a whole when that is known. What it depends on
// is asked for before, for addresses of either version of IP. alloc may be nil: then no value
// may refer to an address.
func Registrar(to kvs.Registrar, alloc API, own ...string) kvs.Registrar {
	if alloc == nil {
		return to
	}
	return &registrar{to, alloc.Addresses(), own}
}

type registrar struct {
	kvs.Registrar
	addresses Addresses
	own       []string
}

// RegisterKVDescriptor implements kvs.Registrar.
func (r *registrar) RegisterKVDescriptor(descriptors ...*kvs.KVDescriptor) error {
	all := make([]*kvs.KVDescriptor, len(descriptors))
	for i, d := range descriptors {
		all[i] = r.resolving(d)
	}
	return r.Registrar.RegisterKVDescriptor(all...)
}

// resolving returns a descriptor that resolves the references in values for another one; the
// same one if its values have no addresses.
func (r *registrar) resolving(d *kvs.KVDescriptor) *kvs.KVDescriptor {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(d.ValueTypeName))
	if err != nil {
		return d
	}
	fields := addressFields(models.AnnotationsOf(t.Descriptor()), r.own)
	if len(fields) == 0 {
		return d
	}
	s := &resolver{d: d, addresses: r.addresses, fields: fields}
	out := *d
	out.RetrieveDependencies = append([]string{DescriptorName}, d.RetrieveDependencies...)
	out.Validate, out.Dependencies, out.ValueComparator = s.validate, s.dependencies, s.same
	if d.UpdateWithRecreate != nil {
		out.UpdateWithRecreate = s.recreate
	}
	s.operations(&out)
	s.batches(&out)
	s.reads(&out)
	return &out
}

// resolver resolves the references in the values of a descriptor.
type resolver struct {
	d         *kvs.KVDescriptor
	addresses Addresses
	fields    []models.AnnotatedField
}

// validate checks the references; the rest is checked when they are resolved. A value that is
// valid as it stands refers to nothing.
func (s *resolver) validate(key string, v proto.Message) error {
	var err error
	if s.d.Validate != nil {
		err = s.d.Validate(key, v)
	}
	if err == nil || !refers(v.ProtoReflect(), s.fields) {
		return err
	}
	var errs []error
	iface := interfaceOf(v)
	eachReference(v, s.fields, func(path string, f *models.AnnotatedField, text string) string {
		if err := s.addresses.Check(text, iface, f.Form.Plain); err != nil {
			errs = append(errs, invalid(path, "%w", err))
		}
		return text
	})
	return errors.Join(errs...)
}

// dependencies are the allocations, and what the value depends on whatever they are.
func (s *resolver) dependencies(key string, v proto.Message) (deps []kvs.Dependency) {
	inner := s.d.Dependencies
	switch {
	case !refers(v.ProtoReflect(), s.fields):
		if inner != nil {
			deps = inner(key, v)
		}
		return deps
	case inner != nil:
		deps = either(inner(s.made(key, v, false)), inner(s.made(key, v, true)))
	}
	var texts []string
	iface := interfaceOf(v)
	eachReference(v, s.fields, func(_ string, _ *models.AnnotatedField, text string) string {
		if !slices.Contains(texts, text) {
			deps = append(deps, model.Dependencies("", text, iface)...)
			texts = append(texts, text)
		}
		return text
	})
	for i := range deps { // an item that is named by its address is named by the same text
		for n, text := range texts {
			named := strings.NewReplacer(madeUp(n, false), text, madeUp(n, true), text)
			deps[i].Key = named.Replace(deps[i].Key)
			deps[i].AnyOf.KeyPrefixes = slices.Clone(deps[i].AnyOf.KeyPrefixes)
			for p, prefix := range deps[i].AnyOf.KeyPrefixes {
				deps[i].AnyOf.KeyPrefixes[p] = named.Replace(prefix)
			}
		}
	}
	return deps
}

// made returns the arguments of Dependencies with made-up addresses, of IPv6 where both versions
// are possible.
func (s *resolver) made(key string, v proto.Message, ipv6 bool) (string, proto.Message) {
	var texts []string
	v = proto.Clone(v)
	eachReference(v, s.fields, func(_ string, f *models.AnnotatedField, text string) string {
		n := slices.Index(texts, text)
		if n < 0 {
			n, texts = len(texts), append(texts, text)
		}
		return likeThis(f, madeUp(n, f.Form.IPv6 || ipv6 && !f.Form.IPv4))
	})
	return key, v
}

// either returns the dependencies that a value has with addresses of both versions of IP: on one
// of two keys, where it depends on another one with each. A condition on the keys of others may
// be one on the address, which is not known: the southbound says whether it is met.
func either(four, six []kvs.Dependency) (deps []kvs.Dependency) {
	for _, d := range four {
		at := slices.IndexFunc(six, func(e kvs.Dependency) bool { return e.Label == d.Label })
		if at < 0 || d.AnyOf.KeySelector != nil {
			continue
		}
		if other := six[at].Key; other != d.Key {
			d = kvs.Dependency{Label: d.Label, AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{d.Key, other}}}
		}
		deps = append(deps, d)
	}
	return deps
}

// same compares what the values mean.
func (s *resolver) same(key string, a, b proto.Message) bool {
	x, errX := s.literal(a)
	y, errY := s.literal(b)
	if errX != nil || errY != nil || s.d.ValueComparator == nil {
		return proto.Equal(a, b)
	}
	return s.d.ValueComparator(key, x, y)
}

func (s *resolver) recreate(key string, old, v proto.Message, m kvs.Metadata) bool {
	x, errX := s.literal(old)
	y, errY := s.literal(v)
	return errX != nil || errY != nil || s.d.UpdateWithRecreate(key, x, y, m)
}

// literal returns the value with the addresses that its references mean; the error names one
// that is not allocated.
func (s *resolver) literal(v proto.Message) (proto.Message, error) {
	if v == nil || !v.ProtoReflect().IsValid() || s.addresses.m.Len() == 0 || !refers(v.ProtoReflect(), s.fields) {
		return v, nil
	}
	var errs []error
	iface := interfaceOf(v)
	v = proto.Clone(v)
	eachReference(v, s.fields, func(path string, f *models.AnnotatedField, text string) string {
		p, ok := s.addresses.Lookup(text, iface)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: %s is not allocated", path, text))
		case !f.Form.Plain:
			return p.Masked().String()
		}
		return p.Addr().String()
	})
	return v, errors.Join(errs...)
}

// wanted is literal for a value that is about to be in the southbound: it is checked as far as
// it was not before.
func (s *resolver) wanted(key string, v proto.Message) (proto.Message, error) {
	out, err := s.literal(v)
	if err == nil && out != v && s.d.Validate != nil {
		err = s.d.Validate(key, out) // retried: another address may be allocated
	}
	return out, err
}

// keyOf returns the key that a value has with its addresses; key is the key of v, the value with
// references. Descriptors that remember keys see the same ones in all callbacks.
func (s *resolver) keyOf(key string, v, literal proto.Message) string {
	if literal == v {
		return key
	}
	if named, ok := kvs.KeyOf(s.d, literal); ok {
		return named
	}
	return key
}

// operations has the operations on one value resolve it.
func (s *resolver) operations(out *kvs.KVDescriptor) {
	if create := s.d.CreateContext; create != nil {
		out.CreateContext = func(ctx context.Context, key string, v proto.Message) (kvs.Metadata, error) {
			literal, err := s.wanted(key, v)
			if err != nil {
				return nil, err
			}
			return create(ctx, s.keyOf(key, v, literal), literal)
		}
	}
	if update := s.d.UpdateContext; update != nil {
		out.UpdateContext = func(ctx context.Context, key string, old, v proto.Message, m kvs.Metadata) (kvs.Metadata, error) {
			old, errOld := s.literal(old)
			literal, err := s.wanted(key, v)
			if err = errors.Join(errOld, err); err != nil {
				return nil, err
			}
			return update(ctx, s.keyOf(key, v, literal), old, literal, m)
		}
	}
	if remove := s.d.DeleteContext; remove != nil {
		out.DeleteContext = func(ctx context.Context, key string, v proto.Message, m kvs.Metadata) error {
			literal, err := s.literal(v)
			if err != nil {
				return err
			}
			return remove(ctx, s.keyOf(key, v, literal), literal, m)
		}
	}
}

func (s *resolver) batches(out *kvs.KVDescriptor) {
	for _, batch := range []*kvs.KVBatchFunc{&out.CreateBatch, &out.UpdateBatch, &out.DeleteBatch} {
		if do := *batch; do != nil {
			*batch = func(ctx context.Context, values []kvs.KVBatchValue) []kvs.KVBatchResult {
				return s.batch(ctx, do, values)
			}
		}
	}
}

// batch operates on the values that can be resolved.
func (s *resolver) batch(ctx context.Context, do kvs.KVBatchFunc, values []kvs.KVBatchValue) []kvs.KVBatchResult {
	if s.addresses.m.Len() == 0 {
		return do(ctx, values)
	}
	results, resolved, sent := make([]kvs.KVBatchResult, len(values)), make([]kvs.KVBatchValue, 0, len(values)), make([]int, 0, len(values))
	for i, v := range values {
		old, errOld := s.literal(v.Old)
		wanted, err := s.wanted(v.Key, v.New)
		if results[i].Err = errors.Join(errOld, err); results[i].Err == nil {
			if v.Key = s.keyOf(v.Key, v.Old, old); v.New != nil {
				v.Key = s.keyOf(values[i].Key, v.New, wanted)
			}
			v.Old, v.New = old, wanted
			resolved, sent = append(resolved, v), append(sent, i)
		} else {
			results[i].Metadata = v.Metadata
		}
	}
	if len(resolved) > 0 {
		for n, r := range do(ctx, resolved) {
			results[sent[n]] = r
		}
	}
	return results
}

// reads has what is found become the references that are expected, as far as it is what they
// mean.
func (s *resolver) reads(out *kvs.KVDescriptor) {
	if retrieve := s.d.RetrieveContext; retrieve != nil {
		out.RetrieveContext = func(ctx context.Context, correlate []kvs.KVWithMetadata) ([]kvs.KVWithMetadata, error) {
			resolved, meant := make([]kvs.KVWithMetadata, 0, len(correlate)), map[string][]meaning{}
			for _, c := range correlate {
				v, err := s.literal(c.Value)
				if err != nil {
					continue // what it refers to is not allocated, so it is not there either
				}
				if v != c.Value {
					key := c.Key
					c.Key = s.keyOf(key, c.Value, v)
					meant[c.Key] = append(meant[c.Key], meaning{key, c.Value, v})
				}
				c.Value = v
				resolved = append(resolved, c)
			}
			found, err := retrieve(ctx, resolved)
			for i := range found {
				refer(&found[i], meant[found[i].Key])
			}
			return found, err
		}
	}
	if retrieve := s.d.RetrieveValueContext; retrieve != nil {
		out.RetrieveValueContext = func(ctx context.Context, key string, last proto.Message, m kvs.Metadata) (proto.Message, kvs.Metadata, bool, error) {
			resolved, err := s.literal(last)
			if err != nil {
				return nil, nil, false, err
			}
			v, m, exists, err := retrieve(ctx, key, resolved, m)
			if err == nil && exists && proto.Equal(v, resolved) {
				v = last
			}
			return v, m, exists, err
		}
	}
}

// meaning is a value with references, and what it means. With its addresses it may have another
// key.
type meaning struct {
	key            string
	value, literal proto.Message
}

// refer gives what was found the key of the value that means it, and its references if it is all
// that they mean.
func refer(found *kvs.KVWithMetadata, meant []meaning) {
	for n, m := range meant {
		equal := proto.Equal(found.Value, m.literal)
		if equal {
			found.Value = m.value
		}
		if equal || n == len(meant)-1 {
			found.Key = m.key
			return
		}
	}
}
