// Package abfplugin is the plugin for ACL-based forwarding of VPP. It needs the metadata of
// package aclplugin, which comes first.
package abfplugin

import (
	acl "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-abfplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{policies, attachments},
		Register: func(to *itemplugin.Registrar) error {
			lists, err := acl.NewLists(to.Metadata(acl.ACLName))
			if err != nil {
				return err
			}
			return to.Add(
				NewABF(to.VPP, to.Interfaces, lists),
				NewABFInterface(to.VPP, to.Interfaces),
			)
		},
	}, opts)
}
