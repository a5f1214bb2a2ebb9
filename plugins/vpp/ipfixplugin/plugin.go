// Package ipfixplugin is the plugin for the measurement of flows in VPP and the export of the
// records.
package ipfixplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-ipfixplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{exporters, probes, features},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(
				NewIPFIX(to.VPP),
				NewFlowProbeParams(to.VPP),
				NewFlowProbeFeature(to.VPP, to.Interfaces),
			)
		},
	}, opts)
}
