// Package wireguardplugin is the plugin for WireGuard peers of VPP. The WireGuard interfaces
// are of package ifplugin.
package wireguardplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-wireguardplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{peers},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewPeer(to.VPP, to.Interfaces))
		},
	}, opts)
}
