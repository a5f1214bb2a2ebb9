package app

import (
	"sync"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/infra/tracing"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// Option is a setting of New.
type Option func(*options)

type options struct {
	models  []models.Known
	plugins []func(*VPPAgent) infra.Plugin
}

// WithModels adds models to the models of vpp-agent. All sources, files, clients and
// commands know them.
func WithModels(ms ...models.Known) Option {
	return func(o *options) { o.models = append(o.models, ms...) }
}

// WithPlugins adds plugins, and those that they depend on. Each function gets the agent
// when its own plugins are wired, so that a plugin can use them. They are initialised
// before the sources of the configuration.
func WithPlugins(build ...func(*VPPAgent) infra.Plugin) Option {
	return func(o *options) { o.plugins = append(o.plugins, build...) }
}

// modelSet returns all models.
func (o *options) modelSet() (*models.Set, error) {
	set, err := allmodels.Set()
	if err != nil || len(o.models) == 0 {
		return set, err
	}
	return models.NewSet(append(set.All(), o.models...)...)
}

// parts are those that DefaultVPP and DefaultLinux share.
var parts = sync.OnceValue(func() *VPPAgent {
	a := &VPPAgent{Cleanup: newCleanup(), Infra: Infra{
		Label: &servicelabel.DefaultPlugin, HTTP: &rest.DefaultPlugin, Metrics: &metrics.DefaultPlugin, Tracing: &tracing.DefaultPlugin,
	}}
	a.addSouthbound(&kvscheduler.DefaultPlugin)
	return a
})

// DefaultVPP returns the plugins of VPP for a program with one agent that was written for
// the predecessor. They use kvscheduler.DefaultPlugin, as orchestrator.DefaultPlugin does,
// and are the same in each call. Other programs use New.
func DefaultVPP() VPP { return parts().VPP }

// DefaultLinux returns the plugins of Linux networking for such a program, see DefaultVPP.
func DefaultLinux() Linux { return parts().Linux }
