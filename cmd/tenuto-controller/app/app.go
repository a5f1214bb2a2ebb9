// Package app assembles the plugins of tenuto-controller.
package app

import (
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/health/probe"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/logging/logmanager"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// endpoint is where the controller serves HTTP by default: next to an agent on the same host.
const endpoint = "127.0.0.1:9192"

// Controller has all plugins of tenuto-controller; it is itself the plugin to run.
type Controller struct {
	infra.PluginDeps

	HTTP       *rest.Plugin
	Logs       *logmanager.Plugin
	Probe      *probe.Plugin
	Metrics    *metrics.Plugin
	Etcd       *etcd.Plugin
	Controller *controller.Plugin
}

// New returns the plugins with default settings, wired.
func New() *Controller {
	cfg := rest.DefaultConfig()
	cfg.Endpoint = endpoint
	c := &Controller{HTTP: rest.NewPlugin(rest.UseConf(cfg)), Etcd: etcd.NewPlugin()}
	c.SetName("TenutoController")
	c.Logs = logmanager.NewPlugin(logmanager.UseDeps(func(d *logmanager.Deps) { d.HTTP = c.HTTP }))
	c.Probe = probe.NewPlugin(probe.UseDeps(func(d *probe.Deps) { d.HTTP = c.HTTP }))
	c.Metrics = metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = c.HTTP }))
	c.Controller = &controller.Plugin{Deps: controller.Deps{Engine: c.Etcd, Metrics: c.Metrics}}
	return c
}

// Init implements infra.Plugin.
func (*Controller) Init() error { return nil }
