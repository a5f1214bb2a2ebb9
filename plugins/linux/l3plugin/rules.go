package l3plugin

import (
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// rules follows the policy rules of the configuration.
type rules struct{ *Plugin }

var _ ifplugin.Follower = rules{}

func (r rules) index() (idxmap.Map[descriptor.RuleMetadata], error) {
	return idxmap.Of[descriptor.RuleMetadata](r.Scheduler.GetMetadataMap(descriptor.RuleName))
}

// Uses reports whether there are rules in a namespace; see ifplugin.Follower.
func (r rules) Uses(use func(*namespace.NetNamespace) bool) bool {
	all, err := r.index()
	if err != nil {
		return false
	}
	for _, meta := range all.All() {
		if use(meta.Namespace) {
			return true
		}
	}
	return false
}

// Event reports the rules that an event may be about; see ifplugin.Follower.
func (r rules) Event(ns *namespace.NetNamespace, e netlinkapi.Event) {
	all, err := r.index()
	if err != nil || e.Kind != netlinkapi.RuleRemoved {
		return
	}
	r.reportRules(descriptor.RulesByPriority.Lookup(all, descriptor.RulePlaceIn(ns, e.Priority)))
}

// Missed reports all rules in a namespace; see ifplugin.Follower.
func (r rules) Missed(ns *namespace.NetNamespace) {
	all, err := r.index()
	if err != nil {
		return
	}
	var names []string
	for name, meta := range all.All() {
		if nsmodel.Equal(meta.Namespace, ns) {
			names = append(names, name)
		}
	}
	r.reportRules(names)
}

func (r rules) reportRules(names []string) {
	if len(names) == 0 {
		return
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = l3model.RuleModel.KeyFor(name)
	}
	r.report(keys)
}
