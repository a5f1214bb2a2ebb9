// Package puntplugin is the plugin for packets that VPP hands to the host: redirections, and
// sockets of programs.
package puntplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-puntplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{sockets, exceptions, redirects},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(
				NewIPRedirect(to.VPP, to.Interfaces),
				NewToHost(to.VPP),
				NewException(to.VPP),
			)
		},
	}, opts)
}
