// Package classifyplugin is the plugin for the packet classifier of VPP.
package classifyplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/classifyplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-classifyplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: &descriptor.Operations,
		Register: func(to *itemplugin.Registrar) error {
			tables := descriptor.NewTables()
			err := to.Add(
				descriptor.NewTable(to.VPP, tables),
				descriptor.NewSession(to.VPP, tables),
				descriptor.NewBinding(to.VPP, to.Interfaces, tables),
			)
			if err != nil {
				return err
			}
			return tables.Use(to.Metadata(descriptor.TableName))
		},
	}, opts)
}
