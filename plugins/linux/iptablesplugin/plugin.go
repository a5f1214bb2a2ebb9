// Package iptablesplugin is the plugin for rule chains of iptables and ip6tables.
package iptablesplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
)

// DefaultName is the name of the plugin; its configuration file is
// linux-iptablesplugin.conf.
const DefaultName = "linux-iptablesplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Config: DefaultConfig(),
		Register: packetfilter.Register(descriptor.Name, descriptor.New, model.RuleChainModel.KeyFor),
	}, opts)
}
