package item

import (
	"context"
	"errors"
	"reflect"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Singleton describes a type of item that a VPP has at most once. V is the message of the
// item. E is what VPP has of it, with the same promises as for an Entry.
type Singleton[V proto.Message, E any] struct {
	// Name of the descriptor.
	Name string
	// Model places the value in the key space.
	Model models.Model[V]
	// Resolve translates the value, as for an Entry.
	Resolve func(r *Resolver, v V) E
	// Value translates what VPP has.
	Value func(e E) V
	// Set changes what VPP has from old to e; nil is none.
	Set func(ctx context.Context, old, e *E) error
	// Get returns what VPP has; nil is none. Without Get the value cannot be read, and the
	// scheduler assumes the effects of its last operations.
	Get func(ctx context.Context) (*E, error)
	// Implicit reports what VPP has without a value. It is read back only if a value is
	// expected that is the same. Default: nothing is.
	Implicit func(e E) bool
	// Assume takes the settings that VPP does not report from an expected value.
	// Optional.
	Assume func(found, expected E) E
	// Made takes the settings that VPP does not report from a value that an earlier session or run
	// of the agent created. Optional.
	Made func(found, recorded E) E
	// SessionOnly reports whether Get returns only what was set in the current session.
	SessionOnly func() bool
	// KeepsShared is as in kvs.Descriptor: Set to nil may return kvs.Left.
	KeepsShared bool
	// Recreate reports that a change deletes the value and creates it again, so that its
	// dependents are deleted before, and created again after that. Default: none does.
	Recreate func(old, e E) bool
}

// NewSingleton returns the descriptor of a type.
func NewSingleton[V proto.Message, E any](vpp *session.VPP, t Singleton[V, E]) *kvs.KVDescriptor {
	d := &singleton[V, E]{Singleton: t, resolver: translation[V, E, struct{}]{Resolution: Resolution[V, E]{Resolve: t.Resolve}, vpp: vpp}}
	out := kvs.Descriptor[V, kvs.Metadata]{
		Name:            t.Name,
		Southbound:      Southbound,
		Validate:        d.resolver.Validate,
		Dependencies:    d.resolver.Dependencies,
		SessionOnly:     t.SessionOnly,
		KeepsShared:     t.KeepsShared,
		ValueComparator: d.resolver.same,
		CreateContext: func(ctx context.Context, _ string, v V) (kvs.Metadata, error) {
			return nil, d.set(ctx, nil, &v)
		},
		DeleteContext: func(ctx context.Context, _ string, v V, _ kvs.Metadata) error {
			return d.set(ctx, &v, nil)
		},
		UpdateContext: func(ctx context.Context, _ string, old, v V, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.set(ctx, &old, &v)
		},
		UpdateWithRecreate: func(_ string, old, v V, _ kvs.Metadata) bool {
			x, y, ok := d.resolver.Both(old, v)
			return t.Recreate != nil && (!ok || t.Recreate(x, y))
		},
	}
	if t.Get != nil {
		out.RetrieveContext = d.retrieve
	}
	return kvs.Adapt(kvs.Describe(t.Model, out))
}

type singleton[V proto.Message, E any] struct {
	Singleton[V, E]
	resolver translation[V, E, struct{}]
}

func (d *singleton[V, E]) set(ctx context.Context, old, v *V) (err error) {
	var from, to *E
	if old != nil {
		e, _ := d.resolver.Live(*old) // VPP may have what no value may say
		from = &e
	}
	if v != nil {
		e, err := d.resolver.Live(*v)
		if err != nil {
			return err
		}
		to = &e
	}
	err = d.Set(ctx, from, to)
	if refused := api.VPPApiError(0); from == nil && to != nil && errors.As(err, &refused) {
		_ = d.Set(ctx, to, nil) // VPP may have done it all the same
	}
	return err
}

// remember completes what VPP has with what an earlier run of the agent created.
func (d *singleton[V, E]) remember(e *E, correlate []kvs.KV[V, kvs.Metadata]) {
	if d.Made == nil {
		return
	}
	for _, c := range correlate {
		if c.Origin != kvs.Recorded {
			continue
		}
		if recorded, err := d.resolver.Live(kvs.WithoutUnmodeled(c.Value)); err == nil {
			*e = d.Made(*e, recorded)
		}
	}
}

// retrieve returns what VPP has, in the spelling that is expected. What is not expected may be
// of another client.
func (d *singleton[V, E]) retrieve(ctx context.Context, correlate []kvs.KV[V, kvs.Metadata]) ([]kvs.KV[V, kvs.Metadata], error) {
	e, err := d.Get(ctx)
	if err != nil || e == nil {
		return nil, IgnoreUnsupported(err)
	}
	d.remember(e, correlate)
	found, assumed, origin := *e, false, kvs.UnknownOrigin
	for _, c := range correlate {
		origin, c.Value = kvs.FromNB, kvs.WithoutUnmodeled(c.Value)
		wanted, err := d.resolver.Live(c.Value)
		if err != nil {
			continue
		}
		got := *e
		if d.Assume != nil {
			got = d.Assume(got, wanted)
		}
		if reflect.DeepEqual(wanted, got) {
			return []kvs.KV[V, kvs.Metadata]{{Key: d.Model.Key(c.Value), Value: c.Value, Origin: origin}}, nil
		}
		if !assumed {
			found, assumed = got, true
		}
	}
	if d.Implicit != nil && d.Implicit(*e) {
		return nil, nil
	}
	v := d.Value(found)
	if modeled, err := d.resolver.Live(v); err == nil {
		if d.Assume != nil {
			found = d.Assume(found, modeled)
		}
		markUnmodeled(v, found, modeled)
	}
	return []kvs.KV[V, kvs.Metadata]{{Key: d.Model.Key(v), Value: v, Origin: origin}}, nil
}
