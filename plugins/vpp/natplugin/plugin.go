// Package natplugin is the plugin for NAT44, NAT64 and NAT66 of VPP.
package natplugin

import (
	"slices"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/descriptor"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-natplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: &descriptor.Operations,
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(slices.Concat(descriptor.NewProperties(), []*kvs.KVDescriptor{
				descriptor.NewGlobal(to.VPP, to.Interfaces),
				descriptor.NewGlobalInterface(to.VPP, to.Interfaces),
				descriptor.NewGlobalAddress(to.VPP),
				descriptor.NewInterface(to.VPP, to.Interfaces),
				descriptor.NewPool(to.VPP),
				descriptor.NewDNAT(to.VPP, to.Interfaces),
				descriptor.NewVrfTable(to.VPP),
				descriptor.NewVrfRoute(to.VPP),
				descriptor.NewNAT64Global(to.VPP),
				descriptor.NewNAT64Interface(to.VPP, to.Interfaces),
				descriptor.NewNAT64Pool(to.VPP),
				descriptor.NewNAT64StaticBIB(to.VPP),
				descriptor.NewNAT64Prefix(to.VPP),
				descriptor.NewNAT66Global(to.VPP),
				descriptor.NewNAT66Interface(to.VPP, to.Interfaces),
				descriptor.NewNAT66Mapping(to.VPP),
			})...)
		},
	}, opts)
}
