// Package policerplugin is the plugin for policers of VPP.
package policerplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-policerplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{meters, uses},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewPolicer(to.VPP), NewInterface(to.VPP, to.Interfaces))
		},
	}, opts)
}
