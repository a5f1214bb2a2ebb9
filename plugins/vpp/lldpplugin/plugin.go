// Package lldpplugin is the plugin for link layer discovery of VPP.
package lldpplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-lldpplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{configure, speakers},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(
				NewGlobal(to.VPP),
				NewInterface(to.VPP, to.Interfaces),
			)
		},
	}, opts)
}
