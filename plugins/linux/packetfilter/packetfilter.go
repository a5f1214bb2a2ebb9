// Package packetfilter has what the items of iptables and nftables have in common. Both are
// kept by a program of the host, in a network namespace, and are looked for where the value
// says that they are.
package packetfilter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Deps is what a descriptor needs.
type Deps struct {
	// Namespaces opens network namespaces.
	Namespaces Namespaces
	// Label is the label of the agent; agents with different labels may share a namespace.
	Label string
	// Log receives what a callback cannot return.
	Log logging.Logger
}

// Namespaces opens network namespaces; see nsplugin.API.
type Namespaces interface {
	Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Ensure(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
}

// Metadata is what is known of an item beside its value.
type Metadata struct {
	// Printed identifies the value that was made, because another one may be desired, and how the
	// program printed it; empty: not known.
	Printed string
	// Namespace is the item's namespace; nil: the agent's own.
	Namespace *namespace.NetNamespace
	// Table is the table of nftables that the item is in, unless iptables-legacy keeps it.
	Table netlinkapi.NFTable
}

// item is the value of an item.
type item interface {
	proto.Message
	GetName() string
	GetNamespace() *namespace.NetNamespace
	GetInterfaces() []string
}

// Calls are the functions of a type of items.
type Calls[V item] struct {
	// Validate returns what is wrong with a value beside its namespace and interfaces.
	Validate func(v V) error
	// Same reports whether two values mean the same; they have the same key.
	Same func(a, b V) bool
	// SamePlace reports whether the items of two values are at the same place. If not, an
	// update deletes the item and creates it again.
	SamePlace func(a, b V) bool
	// Table returns the table of nftables that the item of a value is in.
	Table func(v V) netlinkapi.NFTable
	// Set creates items or replaces them. Like Delete it returns one result per value.
	Set func(ctx context.Context, values []V) []Result
	// Delete deletes items.
	Delete func(ctx context.Context, values []V) []Result
	// Batch is the most values that Set and Delete take at once, from 2 to api.MaxBatch; 0: one.
	Batch int
	// Finder returns the function that finds items during one retrieval, which looks for all of
	// these. It returns nil for an item that does not exist.
	Finder func(all []api.KV[V, Metadata]) func(ctx context.Context, kv api.KV[V, Metadata]) (V, Metadata, error)
}

// Result is the outcome of an operation on one value; see api.BatchResult.
type Result = api.BatchResult[Metadata]

// Each makes an operation on values from one on a single value.
func Each[V item](f func(ctx context.Context, v V) (Metadata, error)) func(context.Context, []V) []Result {
	return func(ctx context.Context, values []V) []Result {
		results := make([]Result, len(values))
		for i, v := range values {
			results[i].Metadata, results[i].Err = f(ctx, v)
		}
		return results
	}
}

// Describe completes the descriptor of a type of items, which has a name and a way to select
// its keys.
func Describe[V item](d api.Descriptor[V, Metadata], c Calls[V]) api.Descriptor[V, Metadata] {
	c.Set, c.Delete = acrossSessions(c.Set), acrossSessions(c.Delete)
	same := func(_ string, a, b V) bool {
		return c.Same(a, b) && c.SamePlace(a, b) && slices.Equal(a.GetInterfaces(), b.GetInterfaces())
	}
	d.Southbound = nsmodel.Southbound
	d.WithMetadata = true
	d.ValueComparator = same
	d.Validate = func(_ string, v V) error { return errors.Join(validate(v), c.Validate(v)) }
	d.Dependencies = func(_ string, v V) []api.Dependency { return dependencies(v) }
	d.UpdateWithRecreate = func(_ string, a, b V, _ Metadata) bool { return !c.SamePlace(a, b) }
	c.describeChanges(&d)
	finder := func(all []api.KV[V, Metadata]) func(context.Context, api.KV[V, Metadata]) (V, Metadata, error) {
		find := c.Finder(all)
		return func(ctx context.Context, kv api.KV[V, Metadata]) (V, Metadata, error) {
			v, meta, err := find(ctx, kv)
			return v, c.placed(meta, kv.Value), err
		}
	}
	d.RetrieveContext = func(ctx context.Context, correlate []api.KV[V, Metadata]) ([]api.KV[V, Metadata], error) {
		ctx, done := continued(ctx)
		defer done()
		return retrieve(ctx, correlate, same, finder(correlate))
	}
	d.RetrieveValueContext = func(ctx context.Context, key string, last V, meta Metadata) (V, Metadata, bool, error) {
		ctx, done := continued(ctx)
		defer done()
		kv := api.KV[V, Metadata]{Key: key, Value: last, Metadata: meta}
		v, meta, err := finder([]api.KV[V, Metadata]{kv})(ctx, kv)
		return v, meta, err == nil && v.ProtoReflect().IsValid(), err
	}
	d.RetrieveDependencies = []string{nsmodel.MicroserviceDescriptor}
	d.ConcurrentRetrieve = true
	return d
}

// programPatience is how long a program may run on when the session has ended.
const programPatience = 20 * time.Second

// continued returns a context that does not end with the session of Linux: that ends when a
// namespace is deleted, and all others continue. done releases it.
func continued(ctx context.Context) (own context.Context, done func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if !errors.Is(cause, api.ErrSessionEnded) {
			cancel(cause)
			return
		}
		timer := time.AfterFunc(programPatience, func() { cancel(cause) })
		context.AfterFunc(own, func() { timer.Stop() })
	})
	return own, func() {
		stop()
		cancel(nil)
	}
}

func acrossSessions[V item](f func(context.Context, []V) []Result) func(context.Context, []V) []Result {
	return func(ctx context.Context, values []V) []Result {
		ctx, done := continued(ctx)
		defer done()
		return f(ctx, values)
	}
}

// describeChanges sets the callbacks that change something.
func (c Calls[V]) describeChanges(d *api.Descriptor[V, Metadata]) {
	type value = api.BatchValue[V, Metadata]
	set := func(ctx context.Context, values []value) []Result {
		return c.set(ctx, each(values, func(v value) V { return v.New }))
	}
	remove := func(ctx context.Context, values []value) []Result {
		return c.Delete(ctx, each(values, func(v value) V { return v.Old }))
	}
	if c.Batch > 0 {
		d.CreateBatch, d.UpdateBatch, d.DeleteBatch, d.Concurrency = set, set, remove, c.Batch
		return
	}
	d.CreateContext = func(ctx context.Context, _ string, v V) (Metadata, error) {
		r := c.set(ctx, []V{v})[0]
		return r.Metadata, r.Err
	}
	d.UpdateContext = func(ctx context.Context, _ string, _, v V, _ Metadata) (Metadata, error) {
		r := c.set(ctx, []V{v})[0]
		return r.Metadata, r.Err
	}
	d.DeleteContext = func(ctx context.Context, _ string, v V, _ Metadata) error { return c.Delete(ctx, []V{v})[0].Err }
}

// set is Set, with metadata that says where the items are.
func (c Calls[V]) set(ctx context.Context, values []V) []Result {
	results := c.Set(ctx, values)
	for i := range results {
		results[i].Metadata = c.placed(results[i].Metadata, values[i])
	}
	return results
}

func (c Calls[V]) placed(meta Metadata, v V) Metadata {
	meta.Namespace, meta.Table = v.GetNamespace(), c.Table(v)
	return meta
}

func each[A, B any](all []A, f func(A) B) []B {
	out := make([]B, len(all))
	for i, a := range all {
		out[i] = f(a)
	}
	return out
}

func validate[V item](v V) error {
	var errs []error
	if err := nsmodel.Validate(v.GetNamespace()); err != nil {
		errs = append(errs, invalid("namespace", "%w", err))
	}
	for i, iface := range v.GetInterfaces() {
		switch {
		case iface == "":
			errs = append(errs, invalid(fmt.Sprintf("interfaces[%d]", i), "empty; expected the name of an interface"))
		case slices.Index(v.GetInterfaces(), iface) < i:
			errs = append(errs, invalid(fmt.Sprintf("interfaces[%d]", i), "%q again; expected each interface once", iface))
		}
	}
	return errors.Join(errs...)
}

func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}

// interfaceExists is the label of a dependency, before the name of the interface.
const interfaceExists = "interface-exists-"

func dependencies[V item](v V) []api.Dependency {
	deps := nsmodel.Dependencies(v.GetNamespace())
	for _, iface := range v.GetInterfaces() {
		deps = append(deps, api.Dependency{Label: interfaceExists + iface, Key: ifmodel.InterfaceModel.KeyFor(iface)})
	}
	return deps
}

// retrieve looks for each expected value. Of several values with one key it returns the one
// that is there.
func retrieve[V item](ctx context.Context, correlate []api.KV[V, Metadata], same func(key string, a, b V) bool,
	find func(ctx context.Context, kv api.KV[V, Metadata]) (V, Metadata, error)) ([]api.KV[V, Metadata], error) {
	at := map[string]int{} // key to its place in found
	var found []api.KV[V, Metadata]
	for _, kv := range correlate {
		i, again := at[kv.Key]
		if again && same(kv.Key, found[i].Value, kv.Value) {
			continue
		}
		value, meta, err := find(ctx, kv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kv.Value.GetName(), err)
		}
		switch {
		case !value.ProtoReflect().IsValid():
		case !again:
			at[kv.Key] = len(found)
			found = append(found, api.KV[V, Metadata]{Key: kv.Key, Value: value, Metadata: meta, Origin: api.FromNB})
		case same(kv.Key, value, kv.Value):
			found[i].Value, found[i].Metadata = value, meta
		}
	}
	return found, nil
}

// IgnoreUnreadable returns nil for the errors that mean that the agent has no items at a place:
// the namespace does not exist or is closed to the agent, or the host lacks the program.
func (d Deps) IgnoreUnreadable(ns *namespace.NetNamespace, err error) error {
	switch {
	case netlinkapi.IsGone(err), errors.Is(err, netlinkapi.ErrNoProgram), errors.Is(err, netlinkapi.ErrUnsupported):
		return nil
	case errors.Is(err, netlinkapi.ErrPermission):
		d.Log.Debug("packet filter not read", "namespace", nsmodel.Text(ns), "error", err)
		return nil
	}
	return err
}

// Explain marks errors that mean that this host lacks a program or a module.
func Explain(err error) error {
	if errors.Is(err, netlinkapi.ErrNoProgram) || errors.Is(err, netlinkapi.ErrUnsupported) {
		return api.Unimplemented(err)
	}
	return err
}

// IgnoreGone makes "already gone" a success; without the program nothing was made.
func IgnoreGone(err error) error {
	if netlinkapi.IsGone(err) || errors.Is(err, netlinkapi.ErrNoProgram) {
		return nil
	}
	return err
}
