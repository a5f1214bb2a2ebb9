// Package classifyplugin is the plugin for the packet classifier of VPP.
package classifyplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-classifyplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{tableOperation, sessions, uses},
		Register: func(to *itemplugin.Registrar) error {
			tables := NewTables()
			err := to.Add(
				NewTable(to.VPP, tables),
				NewSession(to.VPP, tables),
				NewBinding(to.VPP, to.Interfaces, tables),
			)
			if err != nil {
				return err
			}
			return tables.Use(to.Metadata(TableName))
		},
	}, opts)
}
