// Package aclplugin is the plugin for access control lists of VPP.
package aclplugin

import (
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-aclplugin"

// Config is vpp-aclplugin.conf.
type Config struct {
	HitCounters bool `yaml:"hit-counters" desc:"VPP counts the packets and bytes that each IP rule matches, which takes it time for every packet; the metrics vpp_acl_rule_packets and vpp_acl_rule_bytes show them. false: VPP is left as it is, and does not count unless another client asked it to"`
}

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: vppcalls.Operations, Config: Config{},
		Register: func(to *itemplugin.Registrar) error {
			calls := vppcalls.New(to.VPP)
			to.VPP.OnLeaveLayer2(calls.RestoreLayer2)
			if to.Config.(Config).HitCounters {
				to.Follow(calls.CountHits)
			}
			if err := to.Add(descriptor.NewACL(calls, to.Interfaces)); err != nil {
				return err
			}
			lists, err := descriptor.NewLists(to.Metadata(descriptor.ACLName))
			if err != nil {
				return err
			}
			return to.Add(descriptor.NewACLInterface(calls, to.Interfaces, lists))
		},
	}, opts)
}

// MetadataMaps provides the metadata maps of the scheduler.
type MetadataMaps interface {
	GetMetadataMap(descriptor string) idxmap.Reader
}

// Rule returns the name of the access control list that has an index in VPP, and which of its rules
// in the configuration has the position of a rule in VPP; both begin with 0.
func Rule(maps MetadataMaps, list uint32, position int) (name string, rule int, ok bool) {
	lists, err := descriptor.NewLists(maps.GetMetadataMap(descriptor.ACLName))
	if err != nil {
		return "", 0, false
	}
	return lists.Rule(list, position)
}
