// Package qosplugin is the plugin for the handling of QoS bits of VPP.
package qosplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-qosplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{records, stores, marks, egressMaps},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewMap(to.VPP), NewRecord(to.VPP, to.Interfaces),
				NewStore(to.VPP, to.Interfaces), NewMark(to.VPP, to.Interfaces))
		},
	}, opts)
}
