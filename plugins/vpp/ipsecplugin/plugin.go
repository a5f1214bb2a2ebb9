// Package ipsecplugin is the plugin for IPsec of VPP: security associations, policies and
// their databases, and the protection of tunnels. The IPsec interfaces are of package ifplugin.
package ipsecplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-ipsecplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: &descriptor.Operations, Register: register,
	}, opts)
}

func register(to *itemplugin.Registrar) error {
	if err := to.Add(descriptor.NewSA(to.VPP)); err != nil {
		return err
	}
	sas, err := descriptor.NewSAs(to.Metadata(descriptor.SAName))
	if err != nil {
		return err
	}
	return to.Add(
		descriptor.NewSPD(to.VPP, to.Interfaces),
		descriptor.NewSPDInterface(to.VPP, to.Interfaces),
		descriptor.NewSP(to.VPP),
		descriptor.NewTunnelProtection(to.VPP, to.Interfaces, sas),
	)
}
