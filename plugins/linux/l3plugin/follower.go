package l3plugin

import (
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/linux/followers"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func (p *Plugin) rules() followers.Values[descriptor.RuleMetadata] {
	return followers.Values[descriptor.RuleMetadata]{
		Scheduler: p.Scheduler, Log: p.Log, Descriptor: descriptor.RuleName, Key: l3model.RuleModel.KeyFor, Kind: netlinkapi.RuleRemoved,
		Namespace: func(m descriptor.RuleMetadata) *namespace.NetNamespace { return m.Namespace },
		At: func(all idxmap.Map[descriptor.RuleMetadata], ns *namespace.NetNamespace, e netlinkapi.Event) []string {
			return descriptor.RulesByPriority.Lookup(all, descriptor.RulePlaceIn(ns, e.Priority))
		},
	}
}

// neighbours are reported with their interfaces.
func (p *Plugin) neighbours() followers.Values[descriptor.ARPMetadata] {
	return followers.Values[descriptor.ARPMetadata]{
		Scheduler: p.Scheduler, Log: p.Log, Descriptor: descriptor.ARPName, Key: l3model.ARPModel.KeyFor,
	}
}

func (p *Plugin) nexthops() followers.Values[descriptor.NexthopMetadata] {
	return followers.Values[descriptor.NexthopMetadata]{
		Scheduler: p.Scheduler, Log: p.Log, Descriptor: descriptor.NexthopName, Key: l3model.NexthopModel.KeyFor, Kind: netlinkapi.NexthopRemoved,
		Namespace: func(m descriptor.NexthopMetadata) *namespace.NetNamespace { return m.Namespace },
		At: func(all idxmap.Map[descriptor.NexthopMetadata], ns *namespace.NetNamespace, e netlinkapi.Event) []string {
			return descriptor.NexthopsByID.Lookup(all, descriptor.NexthopPlaceIn(ns, e.Nexthop))
		},
	}
}
