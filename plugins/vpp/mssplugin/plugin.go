// Package mssplugin is the plugin for the limits of TCP segments (MSS clamping) of VPP.
package mssplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-mssplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{clamps},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewClamp(to.VPP, to.Interfaces))
		},
	}, opts)
}
