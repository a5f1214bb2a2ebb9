package item

import (
	"context"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Object describes a type of item to which VPP gives an index: the reply to its creation
// reports it, and requests that change or remove the object name it. The index is the metadata
// of the value. All else is as for an Entry.
type Object[V proto.Message, E any, K comparable] struct {
	// Name, Model, Resolve, ID, Identities, Value, Learned, Gone, Explain and After are as in Entry.
	Name    string
	Model   models.Model[V]
	Resolve func(r *Resolver, v V) E
	ID      func(e E) K

	Identities func(v V) []string

	Value   func(n *Names, e E) V
	Learned func(e E) bool
	Gone    []api.VPPApiError
	Explain map[api.VPPApiError]string
	After   []string
	// Operation is how VPP handles the objects; see DeclareObject.
	Operation *session.Operation[ObjectVariant[E]]
	// Changeable reports that VPP changes the object in place; ObjectVariant.Update then does
	// it. Default: it is removed and created again.
	Changeable func(old, e E) bool
	// Check returns why an object must not be created or changed to be e, where VPP would not
	// refuse it or not cleanly. Optional.
	Check func(e E) error
	// Assume takes the settings that VPP does not report from an expected object.
	// Optional.
	Assume func(found, expected E) E
}

// ObjectVariant is one way in which VPP handles objects. Its functions return the request and
// a message for the reply, of the same types for all objects.
type ObjectVariant[E any] struct {
	Create func(e E) (request, reply api.Message)
	// Index returns the index from the reply to Create.
	Index func(reply api.Message) uint32
	// Update changes an object; nil if VPP cannot.
	Update func(index uint32, old, e E) (request, reply api.Message)
	Remove func(index uint32, e E) (request, reply api.Message)
	// Dumps list the objects, all of them together.
	Dumps []Dump[Found[E]]
}

// Found is an object with its index.
type Found[E any] struct {
	Index  uint32
	Object E
}

// Index is the metadata of an object. It is never changed.
type Index struct {
	Index uint32
}

// Indexes are the indexes of the objects of a type that exist in VPP, by their names.
type Indexes struct{ m idxmap.Map[*Index] }

// NewIndexes makes the view of the metadata map of a descriptor.
func NewIndexes(r idxmap.Reader) (Indexes, error) {
	m, err := idxmap.Of[*Index](r)
	return Indexes{m}, err
}

var byIndex = idxmap.Index[*Index, uint32]{
	Name: "index",
	Keys: func(m *Index) []uint32 {
		if m == nil {
			return nil
		}
		return []uint32{m.Index}
	},
}

// Lookup returns the index of the object with a name. It is for Resolver.Number.
func (x Indexes) Lookup(name string) (uint32, bool) {
	m, ok := x.m.Get(name)
	if !ok || m == nil {
		return 0, false
	}
	return m.Index, true
}

// Name returns the name of the object with an index. It is for Names.Known.
func (x Indexes) Name(index uint32) (string, bool) {
	for _, name := range byIndex.Lookup(x.m, index) {
		return name, true
	}
	return "", false
}

// DeclareObject is Declare for objects.
func DeclareObject[E any](item, plugin string, variants ...ObjectVariant[E]) *session.Operation[ObjectVariant[E]] {
	all := make([]binding.Variant[ObjectVariant[E]], len(variants))
	for i, v := range variants {
		var zero E
		needs := append(pair(v.Create(zero)), pair(v.Remove(0, zero))...)
		if v.Update != nil {
			needs = append(needs, pair(v.Update(0, zero, zero))...)
		}
		all[i] = session.Variant(v, append(needs, messagesOf(v.Dumps)...)...)
	}
	return session.Declare(item, plugin, all...)
}

func pair(request, reply api.Message) []api.Message { return []api.Message{request, reply} }

// NewObject returns the descriptor of a type. ifs may be nil if its values name no interfaces.
func NewObject[V proto.Message, E any, K comparable](vpp *session.VPP, ifs Interfaces, t Object[V, E, K]) *kvs.KVDescriptor {
	d := &objects[V, E, K]{Object: t, translation: translation[V, E, K]{Resolution[V, E]{Interfaces: ifs, Resolve: t.Resolve}, vpp, t.Model, t.ID, t.Value, nil, t.Learned, nil, t.Assume}}
	out := kvs.Descriptor[V, *Index]{
		Name:                 t.Name,
		Southbound:           Southbound,
		WithMetadata:         true,
		Validate:             d.Validate,
		Dependencies:         d.Dependencies,
		Identities:           identitiesOf(t.Identities),
		ValueComparator:      d.same,
		CreateBatch:          d.create,
		DeleteBatch:          d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: d.after(t.After),
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}
	if t.Changeable != nil {
		out.UpdateBatch, out.UpdateWithRecreate = d.update, d.recreate
	}
	return kvs.Adapt(kvs.Describe(t.Model, out))
}

type objects[V proto.Message, E any, K comparable] struct {
	Object[V, E, K]
	translation[V, E, K]
}

type (
	objectValue[V proto.Message] = kvs.BatchValue[V, *Index]
	objectResult                 = kvs.BatchResult[*Index]
)

func (d *objects[V, E, K]) recreate(_ string, old, v V, m *Index) bool {
	x, y, ok := d.Both(old, v)
	return !ok || m == nil || d.id(x) != d.id(y) || !d.Changeable(x, y)
}

func (d *objects[V, E, K]) create(ctx context.Context, values []objectValue[V]) []objectResult {
	return d.send(ctx, values, func(do ObjectVariant[E], v *objectValue[V]) (request, reply api.Message, err error) {
		e, err := d.wanted(v.New)
		if err == nil {
			request, reply = do.Create(e)
		}
		return request, reply, err
	}, func(do ObjectVariant[E], _ *objectValue[V], reply api.Message) *Index {
		return &Index{do.Index(reply)}
	})
}

func (d *objects[V, E, K]) update(ctx context.Context, values []objectValue[V]) []objectResult {
	return d.send(ctx, values, func(do ObjectVariant[E], v *objectValue[V]) (request, reply api.Message, err error) {
		old, err := d.Live(v.Old)
		if err != nil {
			return nil, nil, err
		}
		e, err := d.wanted(v.New)
		if err == nil {
			request, reply = do.Update(v.Metadata.Index, old, e)
		}
		return request, reply, err
	}, keepIndex[V, E])
}

// wanted translates a value that VPP is to have.
func (d *objects[V, E, K]) wanted(v V) (E, error) {
	e, err := d.Live(v)
	if err == nil && d.Check != nil {
		err = d.Check(e)
	}
	return e, err
}

func keepIndex[V proto.Message, E any](_ ObjectVariant[E], v *objectValue[V], _ api.Message) *Index {
	return v.Metadata
}

// remove does nothing for a value without an index: its creation was not confirmed, and it
// was not found.
func (d *objects[V, E, K]) remove(ctx context.Context, values []objectValue[V]) []objectResult {
	results := d.send(ctx, values, func(do ObjectVariant[E], v *objectValue[V]) (request, reply api.Message, err error) {
		if v.Metadata == nil {
			return nil, nil, nil
		}
		e, err := d.Live(v.Old)
		if err == nil {
			request, reply = do.Remove(v.Metadata.Index, e)
		}
		return request, reply, err
	}, func(ObjectVariant[E], *objectValue[V], api.Message) *Index { return nil })
	for i := range results {
		if session.Gone(results[i].Err, d.Gone...) {
			results[i].Err = nil
		}
	}
	return results
}

// send sends the requests of a batch, and sets the metadata of those that succeed.
func (d *objects[V, E, K]) send(ctx context.Context, values []objectValue[V],
	message func(ObjectVariant[E], *objectValue[V]) (request, reply api.Message, err error),
	metadata func(do ObjectVariant[E], v *objectValue[V], reply api.Message) *Index) []objectResult {
	results := make([]objectResult, len(values))
	do, err := d.Operation.On(d.vpp)
	var requests, replies []api.Message
	var sent []int
	for i := range values {
		if results[i].Err = err; err != nil {
			continue
		}
		request, reply, err := message(do, &values[i])
		if results[i].Err = err; err != nil || request == nil {
			continue
		}
		requests, replies, sent = append(requests, request), append(replies, reply), append(sent, i)
	}
	for n, err := range d.vpp.CallAll(ctx, requests, replies) {
		i := sent[n]
		if results[i].Err = explained(err, d.Explain); err == nil {
			results[i].Metadata = metadata(do, &values[i], replies[n])
		}
	}
	return results
}

func (d *objects[V, E, K]) retrieve(ctx context.Context, correlate []kvs.KV[V, *Index]) ([]kvs.KV[V, *Index], error) {
	do, err := d.Operation.On(d.vpp)
	if err != nil {
		return nil, IgnoreUnsupported(err)
	}
	found, err := dumpAll(ctx, d.vpp, do.Dumps)
	if err != nil {
		return nil, err
	}
	all := make([]E, len(found))
	for i := range found {
		all[i] = found[i].Object
	}
	expected := make(map[K]wanted[V, E], len(correlate))
	for _, c := range certainFirst(correlate) {
		d.expect(expected, c.Key, c.Value)
	}
	var out []kvs.KV[V, *Index]
	err = d.recognized(ctx, all, expected, func(i int, key string, v V, origin kvs.ValueOrigin) {
		out = append(out, kvs.KV[V, *Index]{Key: key, Value: v, Metadata: &Index{found[i].Index}, Origin: origin})
	})
	return out, err
}
