package configurator

import (
	"context"
	"maps"
	"slices"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	schema "github.com/tenuto-dev/tenuto/proto"
)

const (
	// ClientMetadata is in the metadata of calls of clients that know the fields and
	// models beyond the schema of the predecessor, and that look for failed items in the
	// results of SetConfig. Its value is "1".
	ClientMetadata = "tenuto-client"
	// OmittedTrailer is in the trailer of a reply to other clients, once for each field
	// and message type that was left out.
	OmittedTrailer = "omitted-bin"
)

// caller is the client of a call, as far as its replies depend on it.
type caller struct {
	current bool            // it sent ClientMetadata
	omitted map[string]bool // fields and message types
}

func clientOf(ctx context.Context) caller {
	md, _ := metadata.FromIncomingContext(ctx)
	return caller{len(md.Get(ClientMetadata)) > 0, map[string]bool{}}
}

// knows reports whether the client knows the type of a message.
func (c caller) knows(m proto.Message) bool {
	name := m.ProtoReflect().Descriptor().FullName()
	if c.current || !schema.IsAddition(name) {
		return true
	}
	c.omitted[string(name)] = true
	return false
}

// knowsModel reports whether the client knows the messages of a model, and the fields that make
// up the names of its items.
func (c caller) knowsModel(m models.Known) bool {
	_, named := c.nameTemplate(m)
	return named && c.knows(m.NewInstance())
}

// descriptors returns the descriptors that the client knows.
func descriptors(ctx context.Context) protodesc.Resolver {
	if clientOf(ctx).current {
		return protoregistry.GlobalFiles
	}
	return schema.Former
}

// reduced returns a message without the fields that the client does not know: strict clients
// fail on the whole reply because of them.
func (c caller) reduced(m proto.Message) proto.Message {
	if c.current {
		return m
	}
	m, removed := schema.WithoutAdditions(m)
	for _, name := range removed {
		c.omitted[name] = true
	}
	return m
}

// item returns an item as far as the client knows it. It reports false if the item would have
// the key of another one without the fields that the client does not know.
func (c caller) item(set *models.Set, m proto.Message) (proto.Message, bool) {
	reduced := c.reduced(m)
	if reduced == m {
		return m, true
	}
	key, err := set.KeyOf(m)
	known, kerr := set.KeyOf(reduced)
	return reduced, key == known && err == nil && kerr == nil
}

// nameTemplate returns the template of the names of the items of a model. It reports false
// if the client does not know the fields that make up the names.
func (c caller) nameTemplate(m models.Known) (string, bool) {
	if c.current {
		return allmodels.TemplateOf(m), true
	}
	template, ok := allmodels.FormerTemplateOf(m)
	if !ok {
		c.omitted[string(m.ProtoName())] = true
	}
	return template, ok
}

// reportOmitted puts what was left out into the trailer.
func (c caller) reportOmitted(ctx context.Context) {
	if len(c.omitted) == 0 {
		return
	}
	md := metadata.MD{OmittedTrailer: slices.Sorted(maps.Keys(c.omitted))}
	_ = rpc.SetTrailer(ctx, md) // it fails if the client has disconnected
}
