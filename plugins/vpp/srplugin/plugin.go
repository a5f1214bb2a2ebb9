// Package srplugin is the plugin for IPv6 segment routing (SRv6) of VPP.
package srplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-srplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{sourceOperation, localSIDOperation, policyOperation, steeringOperation},
		Register: func(to *itemplugin.Registrar) error {
			steering, use := NewSteering(to.VPP, to.Interfaces)
			err := to.Add(
				NewGlobal(to.VPP),
				NewLocalSID(to.VPP, to.Interfaces),
				NewPolicy(to.VPP),
				steering,
			)
			if err != nil {
				return err
			}
			return use(to.Metadata(SteeringName))
		},
	}, opts)
}
