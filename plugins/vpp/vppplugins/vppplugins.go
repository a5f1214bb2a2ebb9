// Package vppplugins lists the plugins of VPP items that an agent runs beside those for
// interfaces, layer 2 and layer 3.
package vppplugins

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/bfdplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/classifyplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/cnatplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/dnsplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ip6ndplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipfixplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/linuxcpplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/lldpplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/mplsplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/mssplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/pmtuplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/policerplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/puntplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/qosplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/reassemblyplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/srplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/stnplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/svsplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/urpfplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/wireguardplugin"
)

// New returns the plugins, each with the given settings.
func New(opts ...itemplugin.Option) []*itemplugin.Plugin {
	return []*itemplugin.Plugin{
		aclplugin.NewPlugin(opts...),
		abfplugin.NewPlugin(opts...), // after aclplugin
		bfdplugin.NewPlugin(opts...),
		classifyplugin.NewPlugin(opts...),
		cnatplugin.NewPlugin(opts...),
		dnsplugin.NewPlugin(opts...),
		ikev2plugin.NewPlugin(opts...),
		ipsecplugin.NewPlugin(opts...),
		ipfixplugin.NewPlugin(opts...),
		mplsplugin.NewPlugin(opts...),
		linuxcpplugin.NewPlugin(opts...),
		natplugin.NewPlugin(opts...),
		puntplugin.NewPlugin(opts...),
		srplugin.NewPlugin(opts...),
		stnplugin.NewPlugin(opts...),
		wireguardplugin.NewPlugin(opts...),
		policerplugin.NewPlugin(opts...),
		qosplugin.NewPlugin(opts...),
		urpfplugin.NewPlugin(opts...),
		mssplugin.NewPlugin(opts...),
		reassemblyplugin.NewPlugin(opts...),
		pmtuplugin.NewPlugin(opts...),
		ip6ndplugin.NewPlugin(opts...),
		lldpplugin.NewPlugin(opts...),
		svsplugin.NewPlugin(opts...),
	}
}
