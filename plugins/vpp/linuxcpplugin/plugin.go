// Package linuxcpplugin is the plugin for the Linux control plane of VPP.
package linuxcpplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-linuxcpplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{globals, pairs},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewGlobal(to.VPP), NewPair(to.VPP, to.Interfaces))
		},
	}, opts)
}
