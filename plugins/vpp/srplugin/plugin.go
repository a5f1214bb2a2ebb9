// Package srplugin is the plugin for IPv6 segment routing (SRv6) of VPP.
package srplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/srplugin/descriptor"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-srplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: &descriptor.Operations,
		Register: func(to *itemplugin.Registrar) error {
			steering, use := descriptor.NewSteering(to.VPP, to.Interfaces)
			err := to.Add(
				descriptor.NewGlobal(to.VPP),
				descriptor.NewLocalSID(to.VPP, to.Interfaces),
				descriptor.NewPolicy(to.VPP),
				steering,
			)
			if err != nil {
				return err
			}
			return use(to.Metadata(descriptor.SteeringName))
		},
	}, opts)
}
