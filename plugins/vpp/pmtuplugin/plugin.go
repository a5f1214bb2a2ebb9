// Package pmtuplugin is the plugin for path MTUs of VPP.
package pmtuplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-pmtuplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{pathMTUs},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewPathMTU(to.VPP))
		},
	}, opts)
}
