package refresh

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// skips tells that a descriptor is ignored as a whole, and not read.
func (r *Refresher) skips(d *registry.Descriptor) bool {
	return r.Policies.Of(d, "") == registry.Ignore
}

// without leaves out what is ignored.
func (r *Refresher) without(d *registry.Descriptor, found []api.KVWithMetadata) []api.KVWithMetadata {
	if r.Policies == nil {
		return found
	}
	kept := make([]api.KVWithMetadata, 0, len(found))
	for _, kv := range found {
		if r.Policies.Of(d, kv.Key) != registry.Ignore {
			kept = append(kept, kv)
		}
	}
	return kept
}

// owner decides to whom a found value belongs, by its policy. made: it is on
// record as the scheduler's work. asked: the northbound is about to ask for it.
func (r *Refresher) owner(n *graph.Node, kv api.KVWithMetadata, made, asked bool) (fromSB bool) {
	switch r.Policies.Of(n.Desc, kv.Key) {
	case registry.Observe:
		return true
	case registry.Adopt:
		own := made || n.Have != nil && !n.Have.FromSB && !n.Adopted
		if v := n.Want; !own && v != nil && v.Invalid != nil && (v.Last == nil || v.Last.FromSB) { // nothing was ever adopted
			n.Adopted = false
			return true
		}
		wanted := asked || n.Want != nil && !n.Want.FromSB
		n.Adopted = wanted && !own
		return !own && !wanted
	}
	return r.fromSB(n, kv, made || asked)
}

// fromSB decides who owns a found value. ours: the scheduler made it, or the
// northbound is about to ask for it. The mark of the agent,
// Origin FromNB, proves nothing by itself: another agent with the same label, or a
// process before this one that kept no record, puts the same mark on its objects.
// It only confirms that an operation whose outcome is unknown took effect.
func (r *Refresher) fromSB(n *graph.Node, kv api.KVWithMetadata, ours bool) bool {
	switch {
	case kv.Origin == api.FromSB:
		return n.Want == nil || n.Want.FromSB
	case n.Want != nil && n.Want.Last != nil && n.Want.Last.FromSB: // the wish is invalid
		return true
	case ours:
		return false
	case n.Want != nil && n.Want.Invalid != nil && n.Want.Last == nil:
		return n.Kept() == nil && (n.Have == nil || n.Have.FromSB) // nor is it on record
	case n.Want != nil:
		return n.Want.FromSB
	case n.Have != nil:
		return n.Have.FromSB
	}
	return n.Err == nil || !kv.Origin.Marked()
}
