// Package dnsplugin is the plugin for the DNS cache of VPP.
package dnsplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-dnsplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{caches},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewCache(to.VPP))
		},
	}, opts)
}
