// Package abfplugin is the plugin for ACL-based forwarding of VPP. It needs the metadata of
// package aclplugin, which comes first.
package abfplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/vppcalls"
	acl "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-abfplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: vppcalls.Operations,
		Register: func(to *itemplugin.Registrar) error {
			lists, err := acl.NewLists(to.Metadata(acl.ACLName))
			if err != nil {
				return err
			}
			calls := vppcalls.New(to.VPP)
			return to.Add(
				descriptor.NewABF(calls, to.Interfaces, lists),
				descriptor.NewABFInterface(calls, to.Interfaces),
			)
		},
	}, opts)
}
