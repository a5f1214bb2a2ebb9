// Package urpfplugin is the plugin for the checks of source addresses (uRPF) of VPP.
package urpfplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-urpfplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{checks},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewInterface(to.VPP, to.Interfaces))
		},
	}, opts)
}
