package l3plugin

import (
	"context"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// follower follows the values of a descriptor in their namespaces.
type follower[M any] struct {
	*Plugin
	descriptor string
	key        func(name string) string
	namespace  func(M) *namespace.NetNamespace
	kind       netlinkapi.EventKind // of the events about the values
	// at returns the names of the values that an event in a namespace may be about.
	at func(all idxmap.Map[M], ns *namespace.NetNamespace, e netlinkapi.Event) []string
}

func (p *Plugin) rules() follower[descriptor.RuleMetadata] {
	return follower[descriptor.RuleMetadata]{
		Plugin: p, descriptor: descriptor.RuleName, key: l3model.RuleModel.KeyFor, kind: netlinkapi.RuleRemoved,
		namespace: func(m descriptor.RuleMetadata) *namespace.NetNamespace { return m.Namespace },
		at: func(all idxmap.Map[descriptor.RuleMetadata], ns *namespace.NetNamespace, e netlinkapi.Event) []string {
			return descriptor.RulesByPriority.Lookup(all, descriptor.RulePlaceIn(ns, e.Priority))
		},
	}
}

func (p *Plugin) nexthops() follower[descriptor.NexthopMetadata] {
	return follower[descriptor.NexthopMetadata]{
		Plugin: p, descriptor: descriptor.NexthopName, key: l3model.NexthopModel.KeyFor, kind: netlinkapi.NexthopRemoved,
		namespace: func(m descriptor.NexthopMetadata) *namespace.NetNamespace { return m.Namespace },
		at: func(all idxmap.Map[descriptor.NexthopMetadata], ns *namespace.NetNamespace, e netlinkapi.Event) []string {
			return descriptor.NexthopsByID.Lookup(all, descriptor.NexthopPlaceIn(ns, e.Nexthop))
		},
	}
}

var _ ifplugin.Follower = follower[descriptor.RuleMetadata]{}

func (f follower[M]) index() (idxmap.Map[M], error) {
	return idxmap.Of[M](f.Scheduler.GetMetadataMap(f.descriptor))
}

// Uses reports whether there are values in a namespace; see ifplugin.Follower.
func (f follower[M]) Uses(use func(*namespace.NetNamespace) bool) bool {
	all, err := f.index()
	if err != nil {
		return false
	}
	for _, meta := range all.All() {
		if use(f.namespace(meta)) {
			return true
		}
	}
	return false
}

// Event reports the values that an event may be about; see ifplugin.Follower.
func (f follower[M]) Event(ns *namespace.NetNamespace, e netlinkapi.Event) {
	all, err := f.index()
	if err != nil || e.Kind != f.kind {
		return
	}
	f.reportNames(f.at(all, ns, e))
}

// Missed reports all values in a namespace; see ifplugin.Follower.
func (f follower[M]) Missed(ns *namespace.NetNamespace) {
	all, err := f.index()
	if err != nil {
		return
	}
	var names []string
	for name, meta := range all.All() {
		if nsmodel.Equal(f.namespace(meta), ns) {
			names = append(names, name)
		}
	}
	f.reportNames(names)
}

func (f follower[M]) reportNames(names []string) {
	if len(names) == 0 {
		return
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = f.key(name)
	}
	f.report(keys)
}

// follow follows the namespaces of the values from now on.
func (f follower[M]) follow() error {
	configured, err := f.index()
	if err != nil {
		return err
	}
	f.Go(func(ctx context.Context) {
		for c := range configured.Changes(ctx) {
			f.Interfaces.Look(f.namespace(c.Value))
		}
	})
	return nil
}
