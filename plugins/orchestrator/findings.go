package orchestrator

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/constraints"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// findings returns the constraints that items of a change violate, alone or together with
// other desired items.
func (p *Plugin) findings(items []KeyVal) []response.Finding {
	if !slices.ContainsFunc(items, func(it KeyVal) bool { return constraints.Concerns(it.Val) }) {
		return nil
	}
	p.mu.RLock()
	desired := p.desired(items)
	p.mu.RUnlock()
	return concerning(items, constraints.Check(desired))
}

// predict returns the findings of a change of a source that is not made.
func (p *Plugin) predict(source string, items []KeyVal) []response.Finding {
	p.mu.Lock()
	_, undo := p.store.edit(source, items, false)
	desired := p.desired(items)
	undo()
	p.mu.Unlock()
	return concerning(items, constraints.Check(desired))
}

// desired returns the items in effect that can violate constraints: the items of a change last,
// in its order, so that findings are about them. The lock is held.
func (p *Plugin) desired(change []KeyVal) (all []constraints.Item) {
	changed := keysOf(change)
	for i, src := range p.store.sources {
		for key, it := range src.items {
			if changed[key] || !constraints.Concerns(it.val) {
				continue
			}
			if _, above := among(p.store.sources[i+1:], key); above == nil {
				all = append(all, constraints.Item{Key: key, Value: it.val})
			}
		}
	}
	slices.SortFunc(all, func(a, b constraints.Item) int { return cmp.Compare(a.Key, b.Key) })
	for _, it := range change {
		if now, _ := p.store.effective(it.Key); now.Val != nil {
			all = append(all, constraints.Item{Key: it.Key, Value: now.Val})
		}
	}
	return all
}

// concerning returns the findings about items of a change.
func concerning(change []KeyVal, all []response.Finding) []response.Finding {
	changed := keysOf(change)
	return slices.DeleteFunc(all, func(f response.Finding) bool { return !changed[f.Key] && !changed[f.Other] })
}

// conflicting returns findings about values that are one object of the southbound, but for those
// that a constraint has found.
func conflicting(conflicts []api.PlanConflict, found []response.Finding) (list []response.Finding) {
	for _, c := range conflicts {
		if !slices.ContainsFunc(found, func(f response.Finding) bool {
			return f.Key == c.Key && f.Other == c.Other || f.Key == c.Other && f.Other == c.Key
		}) {
			list = append(list, response.Finding{
				Constraint: "one-object", Refused: true, Key: c.Key, Other: c.Other,
				Text: "is the same object of the southbound as " + c.Other + "; only one of them can exist",
			})
		}
	}
	return list
}

// locate adds the positions of the fields to findings about items of the request, and the finding
// about items under other keys.
func (b *body) locate(findings []response.Finding) []response.Finding {
	renamed := constraints.OtherKeys(b.doc.Items)
	if len(findings) == 0 {
		return renamed
	}
	at := make(map[string]document.Position, len(b.doc.Items))
	for _, it := range b.doc.Items {
		at[it.Key] = it.Position
	}
	fields := document.Locator{Text: b.text}
	for i := range findings[:min(len(findings), maxLocated)] {
		f := &findings[i]
		if place, ok := at[f.Key]; ok {
			place = fields.Locate(place, f.Field)
			f.Line, f.Column = place.Line, place.Column
		}
	}
	return append(renamed, findings...)
}

// maxOverrides is the maximum number of overridden items that a response names.
const maxOverrides = 10

// Overrides returns the items of other sources that the items of an applied plan override: the
// first 10, and the number of all.
func (p *Plugin) Overrides(plan *Plan) (list []response.Override, n int) {
	return p.overrides(plan.Source, plan.items())
}

// overrides returns the items of other sources that items of a source override, and their
// number.
func (p *Plugin) overrides(source string, items []KeyVal) (list []response.Override, n int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.store.overrides(source, items, nil)
}

// overrides returns the items of other sources that items of a source override, and their number.
// Before are the items of the source before the change, to leave out what it overrode already;
// nil leaves nothing out.
func (s *store) overrides(source string, items, before []KeyVal) (list []response.Override, n int) {
	for i, it := range items {
		if it.Val == nil || before != nil && before[i].Val != nil {
			continue
		}
		all := s.sourced(it.Key).Sources
		if len(all) < 2 || all[0].Source != source {
			continue
		}
		if n++; n <= maxOverrides {
			list = append(list, response.Override{Key: it.Key, Source: all[1].Source, Location: all[1].Location.Text(it.Key)})
		}
	}
	return list, n
}

// overridden are changed items of a source that have no effect, by the source that
// overrides them.
type overridden map[string][]string

// overriddenBy returns the changed items of a change that another source overrides, before
// the change is made. The lock is held.
func (p *Plugin) overriddenBy(ch *change) overridden {
	src := p.store.source(ch.source)
	above := p.store.sources[slices.Index(p.store.sources, src)+1:]
	if ch.store == nil || len(above) == 0 {
		return nil
	}
	found := overridden{}
	for _, it := range ch.items {
		if old, ok := src.items[it.Key]; ok && proto.Equal(old.val, it.Val) {
			continue
		}
		if _, owner := among(above, it.Key); owner != nil {
			found[owner.name] = append(found[owner.name], it.Key)
		}
	}
	return found
}

// tellOverridden logs changed items that have no effect.
func (p *Plugin) tellOverridden(source string, found overridden) {
	for owner, keys := range found {
		p.Log.Warn("changed items have no effect: another source overrides them", "source", source, "overridden-by", owner,
			"items", len(keys), "keys", keys[:min(len(keys), maxTold)])
	}
}
