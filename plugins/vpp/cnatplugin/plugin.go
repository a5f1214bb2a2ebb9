// Package cnatplugin is the plugin for CNAT of VPP.
package cnatplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-cnatplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{globals, interfaces, translations},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(
				NewGlobal(to.VPP),
				NewInterface(to.VPP, to.Interfaces),
				NewTranslation(to.VPP),
			)
		},
	}, opts)
}
