// Package ipsecplugin is the plugin for IPsec of VPP: security associations, policies and
// their databases, and the protection of tunnels. The IPsec interfaces are of package ifplugin.
package ipsecplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-ipsecplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{
			saOperation, policyOperation, spdOperation, spdInterfaceOperation, protectionOperation,
		}, Register: register,
	}, opts)
}

func register(to *itemplugin.Registrar) error {
	if err := to.Add(NewSA(to.VPP)); err != nil {
		return err
	}
	sas, err := NewSAs(to.Metadata(SAName))
	if err != nil {
		return err
	}
	return to.Add(
		NewSPD(to.VPP, to.Interfaces),
		NewSPDInterface(to.VPP, to.Interfaces),
		NewSP(to.VPP),
		NewTunnelProtection(to.VPP, to.Interfaces, sas),
	)
}
