// Package vppplugins lists the plugins of VPP items that an agent runs beside those for
// interfaces, layer 2 and layer 3.
package vppplugins

import "github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"

//go:generate go run github.com/tenuto-dev/tenuto/infra/funclist -type "func(opts ...itemplugin.Option) *itemplugin.Plugin" -var constructors ../...

// New returns the plugins, each with the given settings.
func New(opts ...itemplugin.Option) (all []*itemplugin.Plugin) {
	for _, construct := range constructors {
		all = append(all, construct(opts...))
	}
	return all
}
