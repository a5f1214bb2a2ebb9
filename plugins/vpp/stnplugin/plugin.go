// Package stnplugin is the plugin for rules that share an interface of VPP with the host
// ("steal the NIC").
package stnplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-stnplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{rules},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewRule(to.VPP, to.Interfaces))
		},
	}, opts)
}
