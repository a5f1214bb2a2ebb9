package refresh

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// skips reports whether a descriptor is ignored as a whole, and not read.
func (r *Refresher) skips(d *registry.Descriptor) bool {
	return r.Policies.Of(d, "") == registry.Ignore
}

// without leaves out ignored values.
func (r *Refresher) without(d *registry.Descriptor, found []api.KVWithMetadata) []api.KVWithMetadata {
	if r.Policies == nil {
		return found
	}
	ignored := func(kv api.KVWithMetadata) bool { return r.Policies.Of(d, kv.Key) == registry.Ignore }
	return slices.DeleteFunc(slices.Clone(found), ignored)
}

// ownership decides how reading a value changes who it belongs to. made: it is on record
// as the scheduler's work. asked: the northbound is about to ask for it.
func (r *Refresher) ownership(n *graph.Node, kv api.KVWithMetadata, made, asked bool) graph.Event {
	switch r.Policies.Of(n.Desc, kv.Key) {
	case registry.Observe:
		if n.Want != nil && n.Want.Observed {
			return graph.Observe
		}
		return graph.Found
	case registry.Adopt:
		switch desired := asked || n.Desired() != nil; {
		case made:
			return graph.FoundRecorded
		case n.Ours():
			return graph.Unchanged
		case !desired || n.NeverValid():
			return graph.Found
		}
		return graph.Adopt
	}
	switch {
	case !made && !n.Ours() && len(api.Unmodeled(kv.Value)) > 0: // to take it over would change or drop that
		return graph.Found
	case r.foreign(n, kv, made || asked):
		return graph.Found
	case made:
		return graph.FoundRecorded
	case n.Owner == graph.Adopted: // under another policy
		return graph.Unchanged
	case asked || n.Desired() != nil:
		return graph.TakenOver
	}
	return graph.FoundRecorded
}

// foreign reports whether a found value belongs to others. ours: the scheduler made it,
// or the northbound is about to ask for it. The mark of the agent,
// Origin FromNB, proves nothing by itself: another agent with the same label, or a
// process before this one that kept no record, puts the same mark on its objects.
// It only confirms that an operation whose outcome is unknown took effect.
func (r *Refresher) foreign(n *graph.Node, kv api.KVWithMetadata, ours bool) bool {
	switch {
	case kv.Origin == api.FromSB:
		return n.Desired() == nil
	case n.Want.KeepsFound():
		return true
	case ours:
		return false
	case n.NeverValid():
		return n.Kept == nil && !n.Ours() // nor is it on record
	case n.Want != nil:
		return n.Obtained()
	case n.Have != nil:
		return n.Have.FromSB
	}
	return n.Err == nil || !kv.Origin.Marked()
}
