package api

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// WithContexts returns the descriptor with its callbacks in the form that takes a
// context. A callback that has no such form ignores the context. d is not changed.
func (d *Descriptor[V, M]) WithContexts() *Descriptor[V, M] {
	c := *d
	c.Create, c.Update, c.Delete, c.Retrieve, c.RetrieveValue = nil, nil, nil, nil, nil
	if f := d.Create; f != nil && d.CreateContext == nil {
		c.CreateContext = func(_ context.Context, key string, v V) (M, error) { return f(key, v) }
	}
	if f := d.Update; f != nil && d.UpdateContext == nil {
		c.UpdateContext = func(_ context.Context, key string, from, to V, m M) (M, error) { return f(key, from, to, m) }
	}
	if f := d.Delete; f != nil && d.DeleteContext == nil {
		c.DeleteContext = func(_ context.Context, key string, v V, m M) error { return f(key, v, m) }
	}
	if f := d.Retrieve; f != nil && d.RetrieveContext == nil {
		c.RetrieveContext = func(_ context.Context, correlate []KV[V, M]) ([]KV[V, M], error) { return f(correlate) }
	}
	if f := d.RetrieveValue; f != nil && d.RetrieveValueContext == nil {
		c.RetrieveValueContext = func(_ context.Context, key string, last V, m M) (V, M, bool, error) { return f(key, last, m) }
	}
	return &c
}

// Retrieves reports whether the values can be read from the southbound.
func (d *Descriptor[V, M]) Retrieves() bool { return d.Retrieve != nil || d.RetrieveContext != nil }

// GivenTwice names the callbacks that are given with and without a context. Such a
// descriptor is refused.
func (d *Descriptor[V, M]) GivenTwice() (callbacks []string) {
	for _, c := range []struct {
		name  string
		twice bool
	}{
		{"Create", d.Create != nil && d.CreateContext != nil},
		{"Update", d.Update != nil && d.UpdateContext != nil},
		{"Delete", d.Delete != nil && d.DeleteContext != nil},
		{"Retrieve", d.Retrieve != nil && d.RetrieveContext != nil},
		{"RetrieveValue", d.RetrieveValue != nil && d.RetrieveValueContext != nil},
	} {
		if c.twice {
			callbacks = append(callbacks, c.name)
		}
	}
	return callbacks
}

// adaptPlain adapts the callbacks that take no context.
func (a adapter[V, M]) adaptPlain(k *KVDescriptor) {
	plain := *a.d
	plain.CreateContext, plain.UpdateContext, plain.DeleteContext = nil, nil, nil
	plain.RetrieveContext, plain.RetrieveValueContext = nil, nil
	var adapted KVDescriptor
	adapter[V, M]{plain.WithContexts()}.adaptContexts(&adapted)
	ctx := context.Background() // ignored
	if f := adapted.CreateContext; f != nil {
		k.Create = func(key string, v proto.Message) (Metadata, error) { return f(ctx, key, v) }
	}
	if f := adapted.UpdateContext; f != nil {
		k.Update = func(key string, from, to proto.Message, m Metadata) (Metadata, error) {
			return f(ctx, key, from, to, m)
		}
	}
	if f := adapted.DeleteContext; f != nil {
		k.Delete = func(key string, v proto.Message, m Metadata) error { return f(ctx, key, v, m) }
	}
	if f := adapted.RetrieveContext; f != nil {
		k.Retrieve = func(correlate []KVWithMetadata) ([]KVWithMetadata, error) { return f(ctx, correlate) }
	}
	if f := adapted.RetrieveValueContext; f != nil {
		k.RetrieveValue = func(key string, last proto.Message, m Metadata) (proto.Message, Metadata, bool, error) {
			return f(ctx, key, last, m)
		}
	}
}
