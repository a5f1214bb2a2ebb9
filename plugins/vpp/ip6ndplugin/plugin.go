// Package ip6ndplugin is the plugin for IPv6 neighbor discovery of VPP as a router.
package ip6ndplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-ip6ndplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{operation},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewRouterAdvertisement(to.VPP, to.Interfaces))
		},
	}, opts)
}
