// Package reassemblyplugin is the plugin for the reassembly of IP fragments of VPP.
package reassemblyplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-reassemblyplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{limitOperations, onInterfaces},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewSettings(to.VPP), NewInterface(to.VPP, to.Interfaces))
		},
	}, opts)
}
