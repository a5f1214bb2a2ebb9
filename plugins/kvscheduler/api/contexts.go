package api

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
)

// WithContexts returns the descriptor with its callbacks in the form that takes a
// context. A callback that has no such form ignores the context; one that takes batches
// gets a batch of one value. d is not changed.
func (d *Descriptor[V, M]) WithContexts() *Descriptor[V, M] {
	c := *d
	c.Create, c.Update, c.Delete, c.Retrieve, c.RetrieveValue = nil, nil, nil, nil, nil
	c.batchesOfOne(d)
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

// batchesOfOne sets the callbacks that d only has in the form for batches.
func (c *Descriptor[V, M]) batchesOfOne(d *Descriptor[V, M]) {
	c.CreateBatch, c.UpdateBatch, c.DeleteBatch = nil, nil, nil
	one := func(ctx context.Context, callback string, f BatchFunc[V, M], value BatchValue[V, M]) (meta M, err error) {
		results := f(ctx, []BatchValue[V, M]{value})
		if len(results) != 1 {
			return meta, fmt.Errorf("descriptor %q: %s returned %d results for 1 value", d.Name, callback, len(results))
		}
		return results[0].Metadata, results[0].Err
	}
	if f := d.CreateBatch; f != nil && d.CreateContext == nil {
		c.CreateContext = func(ctx context.Context, key string, v V) (M, error) {
			return one(ctx, "CreateBatch", f, BatchValue[V, M]{Key: key, New: v})
		}
	}
	if f := d.UpdateBatch; f != nil && d.UpdateContext == nil {
		c.UpdateContext = func(ctx context.Context, key string, from, to V, m M) (M, error) {
			return one(ctx, "UpdateBatch", f, BatchValue[V, M]{Key: key, Old: from, Metadata: m, New: to})
		}
	}
	if f := d.DeleteBatch; f != nil && d.DeleteContext == nil {
		c.DeleteContext = func(ctx context.Context, key string, v V, m M) error {
			_, err := one(ctx, "DeleteBatch", f, BatchValue[V, M]{Key: key, Old: v, Metadata: m})
			return err
		}
	}
}

// Retrieves reports whether the values can be read from the southbound.
func (d *Descriptor[V, M]) Retrieves() bool { return d.Retrieve != nil || d.RetrieveContext != nil }

// GivenTwice lists the forms of each callback that is given in several, as in "Create
// and CreateContext". Such a descriptor is refused.
func (d *Descriptor[V, M]) GivenTwice() (callbacks []string) {
	for _, c := range []struct {
		name  string
		given [3]bool
	}{
		{"Create", [3]bool{d.Create != nil, d.CreateContext != nil, d.CreateBatch != nil}},
		{"Update", [3]bool{d.Update != nil, d.UpdateContext != nil, d.UpdateBatch != nil}},
		{"Delete", [3]bool{d.Delete != nil, d.DeleteContext != nil, d.DeleteBatch != nil}},
		{"Retrieve", [3]bool{d.Retrieve != nil, d.RetrieveContext != nil}},
		{"RetrieveValue", [3]bool{d.RetrieveValue != nil, d.RetrieveValueContext != nil}},
	} {
		var forms []string
		for i, suffix := range []string{"", "Context", "Batch"} {
			if c.given[i] {
				forms = append(forms, c.name+suffix)
			}
		}
		if len(forms) > 1 {
			callbacks = append(callbacks, strings.Join(forms, " and "))
		}
	}
	return callbacks
}

// adaptPlain adapts the callbacks that take no context.
func (a adapter[V, M]) adaptPlain(k *KVDescriptor) {
	plain := *a.d
	plain.CreateContext, plain.UpdateContext, plain.DeleteContext = nil, nil, nil
	plain.CreateBatch, plain.UpdateBatch, plain.DeleteBatch = nil, nil, nil
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
