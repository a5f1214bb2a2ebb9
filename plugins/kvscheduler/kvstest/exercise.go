package kvstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Exercise takes a value through its life in the southbound behind the
// descriptor: create, change to next (unless that is nil or needs a
// re-creation), delete, and after each step retrieve, which must agree.
// Deleting again must be a success, because the value is gone. Everything the
// value depends on must exist already.
func Exercise(t testing.TB, d *api.KVDescriptor, key string, value, next proto.Message) {
	t.Helper()
	if err := exercise(t.Context(), d, key, value, next); err != nil {
		t.Errorf("descriptor %q, %s: %v", d.Name, key, err)
	}
}

func exercise(ctx context.Context, d *api.KVDescriptor, key string, value, next proto.Message) error {
	d = d.WithContexts()
	meta, err := d.CreateContext(ctx, key, value)
	if !succeeded(err) {
		return fmt.Errorf("create: %w", err)
	}
	if err := retrieved(ctx, d, key, value, meta); err != nil {
		return fmt.Errorf("after create: %w", err)
	}
	inPlace := next != nil && d.UpdateContext != nil &&
		(d.UpdateWithRecreate == nil || !d.UpdateWithRecreate(key, value, next, meta))
	if inPlace {
		if meta, err = d.UpdateContext(ctx, key, value, next, meta); err != nil {
			return fmt.Errorf("update: %w", err)
		}
		if err := retrieved(ctx, d, key, next, meta); err != nil {
			return fmt.Errorf("after update: %w", err)
		}
		value = next
	}
	if err := d.DeleteContext(ctx, key, value, meta); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if err := retrieved(ctx, d, key, nil, nil); err != nil {
		return fmt.Errorf("after delete: %w", err)
	}
	if err := d.DeleteContext(ctx, key, value, meta); err != nil {
		return fmt.Errorf("delete of what is gone: %w", err)
	}
	return nil
}

// retrieved compares what Retrieve finds with what should be there.
func retrieved(ctx context.Context, d *api.KVDescriptor, key string, want proto.Message, meta api.Metadata) error {
	if d.RetrieveContext == nil {
		return nil
	}
	var correlate []api.KVWithMetadata
	if want != nil {
		correlate = append(correlate, api.KVWithMetadata{Key: key, Value: want, Metadata: meta, Origin: api.FromNB})
	}
	found, err := d.RetrieveContext(ctx, correlate)
	if err != nil {
		return fmt.Errorf("retrieve: %w", err)
	}
	for _, kv := range found {
		if kv.Key != key {
			continue
		}
		if want == nil {
			return fmt.Errorf("retrieve still finds %v", kv.Value)
		}
		equal := proto.Equal(want, kv.Value)
		if d.ValueComparator != nil {
			equal = d.ValueComparator(key, kv.Value, want)
		}
		if !equal {
			return fmt.Errorf("retrieve differs (-want +got):\n%s", cmp.Diff(want, kv.Value, protocmp.Transform()))
		}
		return nil
	}
	if want != nil {
		return fmt.Errorf("retrieve does not find it")
	}
	return nil
}
