package engine

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// forced names, by key, the changed fields for which values of a plan must be created again; of
// the first limit of them.
func (p *plans) forced(pl *plan.Plan, limit int) map[string][]string {
	var all map[string][]string
	removed := map[string]*plan.Op{}
	for i := range pl.Ops {
		op := &pl.Ops[i]
		if op.Recreate && op.Kind == plan.Down && op.Have != nil {
			removed[op.Key] = op
		}
		down := removed[op.Key]
		if down == nil || op.Kind != plan.Up || op.Target == nil {
			continue
		}
		delete(removed, op.Key)
		if limit--; limit < 0 {
			break
		}
		var meta api.Metadata
		if n := p.state.graph.Node(op.Key); n != nil {
			meta = n.Meta
		}
		if fields := forcingFields(op.Desc, op.Key, down.Have.Msg, op.Target.Msg, meta); len(fields) > 0 {
			if all == nil {
				all = map[string][]string{}
			}
			all[op.Key] = fields
		}
	}
	return all
}

// forcingFields returns the paths of the changed fields that alone force a re-creation, such
// as "memif.id", sorted. There may be none: a value is also created again after one that it
// depends on, or for several fields together.
func forcingFields(desc *registry.Descriptor, key string, from, to proto.Message, meta api.Metadata) []string {
	if from == nil || to == nil || from.ProtoReflect().Descriptor() != to.ProtoReflect().Descriptor() {
		return nil
	}
	var fields []string
	// visit tries each changed field of two messages alone, in a copy of from. path is where the
	// messages are in the values, and into finds the same place in a copy.
	var visit func(path string, was, is protoreflect.Message, into func(root protoreflect.Message) protoreflect.Message)
	visit = func(path string, was, is protoreflect.Message, into func(root protoreflect.Message) protoreflect.Message) {
		for i := range was.Descriptor().Fields().Len() {
			fd := was.Descriptor().Fields().Get(i)
			if !was.Has(fd) && !is.Has(fd) || was.Has(fd) == is.Has(fd) && was.Get(fd).Equal(is.Get(fd)) {
				continue
			}
			if fd.Message() != nil && fd.Cardinality() != protoreflect.Repeated && was.Has(fd) && is.Has(fd) {
				visit(path+string(fd.Name())+".", was.Get(fd).Message(), is.Get(fd).Message(), func(root protoreflect.Message) protoreflect.Message {
					return into(root).Mutable(fd).Message()
				})
				continue
			}
			changed := proto.Clone(from)
			set(into(changed.ProtoReflect()), is, fd)
			if forces, err := desc.Forces(key, from, changed, meta); err == nil && forces {
				fields = append(fields, path+string(fd.Name()))
			}
		}
	}
	visit("", from.ProtoReflect(), to.ProtoReflect(), func(root protoreflect.Message) protoreflect.Message { return root })
	slices.Sort(fields)
	return fields
}

// set copies a field, or its absence.
func set(into, from protoreflect.Message, fd protoreflect.FieldDescriptor) {
	if from.Has(fd) {
		into.Set(fd, from.Get(fd))
	} else {
		into.Clear(fd)
	}
}
