// Package ikev2plugin is the plugin for IKEv2 of VPP, which exchanges the keys of IPsec tunnels.
package ikev2plugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-ikev2plugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: &descriptor.Operations,
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(descriptor.NewGlobal(to.VPP), descriptor.NewProfile(to.VPP, to.Interfaces))
		},
	}, opts)
}
