// Package natplugin is the plugin for NAT44, NAT64 and NAT66 of VPP.
package natplugin

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-natplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{
			globals[endpointDependent], interfaceOperations[endpointDependent],
			mappingOperations[endpointDependent], addressOperations[endpointDependent],
			vrfTableOperations[endpointDependent], vrfRouteOperations[endpointDependent], globals64,
			interfaces64, addresses64, prefixes64, staticBIBs, globals66, interfaces66, mappings66,
		},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(slices.Concat(NewProperties(), []*kvs.KVDescriptor{
				NewGlobal(to.VPP, to.Interfaces),
				NewGlobalInterface(to.VPP, to.Interfaces),
				NewGlobalAddress(to.VPP),
				NewInterface(to.VPP, to.Interfaces),
				NewPool(to.VPP),
				NewDNAT(to.VPP, to.Interfaces),
				NewVrfTable(to.VPP),
				NewVrfRoute(to.VPP),
				NewNAT64Global(to.VPP),
				NewNAT64Interface(to.VPP, to.Interfaces),
				NewNAT64Pool(to.VPP),
				NewNAT64StaticBIB(to.VPP),
				NewNAT64Prefix(to.VPP),
				NewNAT66Global(to.VPP),
				NewNAT66Interface(to.VPP, to.Interfaces),
				NewNAT66Mapping(to.VPP),
			})...)
		},
	}, opts)
}
