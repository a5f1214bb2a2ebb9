// Package mplsplugin is the plugin for MPLS of VPP. MPLS tunnels are interfaces, and labels
// that are imposed on IP packets are part of routes: those are of the packages ifplugin and
// l3plugin.
package mplsplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-mplsplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{enabled, routes, tables},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(
				NewTable(to.VPP),
				NewInterface(to.VPP, to.Interfaces),
				NewRoute(to.VPP, to.Interfaces),
			)
		},
	}, opts)
}
