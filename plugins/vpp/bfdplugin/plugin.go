// Package bfdplugin is the plugin for bidirectional forwarding detection in VPP. It follows the
// states of sessions, which other values can depend on.
package bfdplugin

import (
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-bfdplugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{sessions, authKeys, echoSource},
		Register: func(to *itemplugin.Registrar) error {
			states := newStateWatcher(to, NewStates(to.VPP, to.Interfaces))
			err := to.Add(
				NewAuthKey(to.VPP),
				NewSession(to.VPP, to.Interfaces, states.refresh),
				states.Descriptor(),
				NewEchoSource(to.VPP, to.Interfaces),
			)
			to.Follow(states.follow)
			return err
		},
	}, opts)
}
