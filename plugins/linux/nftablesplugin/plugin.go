// Package nftablesplugin is the plugin for tables of nftables.
package nftablesplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/linux/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
)

// DefaultName is the name of the plugin; its configuration file is
// linux-nftablesplugin.conf.
const DefaultName = "linux-nftablesplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Config: DefaultConfig(),
		Register: packetfilter.Register(descriptor.Name, descriptor.New, model.TableModel.KeyFor),
	}, opts)
}
