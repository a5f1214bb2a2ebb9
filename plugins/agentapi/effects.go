package agentapi

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// effects are the kinds of steps, in the order in which they are counted.
var effects = []struct {
	kind   api.StepKind
	effect pb.Effect
}{
	{api.StepCreate, pb.Effect_EFFECT_CREATE}, {api.StepUpdate, pb.Effect_EFFECT_UPDATE}, {api.StepDelete, pb.Effect_EFFECT_DELETE},
	{api.StepRecreate, pb.Effect_EFFECT_RECREATE}, {api.StepWait, pb.Effect_EFFECT_WAIT}, {api.StepWithdraw, pb.Effect_EFFECT_WITHDRAW}, {api.StepDrop, pb.Effect_EFFECT_DROP},
	{api.StepNever, pb.Effect_EFFECT_NEVER}, {api.StepLeft, pb.Effect_EFFECT_LEAVE},
}

func effectOf(kind api.StepKind) pb.Effect {
	for _, e := range effects {
		if e.kind == kind {
			return e.effect
		}
	}
	return pb.Effect_EFFECT_UNSPECIFIED
}

func itemCounts(counts map[api.StepKind]int) (list []*pb.ItemCount) {
	for _, e := range effects {
		if n := counts[e.kind]; n > 0 {
			list = append(list, &pb.ItemCount{Effect: e.effect, Items: uint32(n)})
		}
	}
	return list
}

func itemEffects(items []api.PlanItem) []*pb.ItemEffect {
	list := make([]*pb.ItemEffect, len(items))
	for i := range items {
		it := &items[i]
		out := &pb.ItemEffect{
			Effect: effectOf(it.Kind), Key: it.Key, State: it.State, Operations: uint32(it.Operations), Reason: it.Reason,
			Because: causeOf(it.Because), OmittedParts: uint32(it.OmittedParts), Following: uint32(it.Following), Error: it.Error, Reverted: it.Reverted,
		}
		for f := range it.Fields {
			out.Fields = append(out.Fields, fieldChange(&it.Fields[f]))
		}
		for _, p := range it.Parts {
			out.Parts = append(out.Parts, &pb.PartEffect{Effect: effectOf(p.Kind), Key: p.Key, Reason: p.Reason, Because: causeOf(p.Because)})
		}
		list[i] = out
	}
	return list
}

func causeOf(c *api.PlanCause) *pb.Cause {
	if c == nil {
		return nil
	}
	return &pb.Cause{Effect: effectOf(c.Kind), Key: c.Key, Fields: c.Fields}
}

func fieldChange(f *api.FieldChange) *pb.FieldChange {
	out := &pb.FieldChange{Path: f.Path, Removed: f.Removed, Added: f.Added, Secret: f.Secret, Forces: f.Forces}
	if f.Secret || len(f.Removed)+len(f.Added) > 0 {
		return out
	}
	if f.Kind != api.StepCreate {
		out.Old = &f.Old
	}
	if f.Kind != api.StepDelete {
		out.New = &f.New
	}
	return out
}
