// Package aclplugin is the plugin for access control lists of VPP.
package aclplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-aclplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: &vppcalls.Operations,
		Register: func(to *itemplugin.Registrar) error {
			calls := vppcalls.New(to.VPP)
			if err := to.Add(descriptor.NewACL(calls, to.Interfaces)); err != nil {
				return err
			}
			lists, err := descriptor.NewLists(to.Metadata(descriptor.ACLName))
			if err != nil {
				return err
			}
			return to.Add(descriptor.NewACLInterface(calls, to.Interfaces, lists))
		},
	}, opts)
}
