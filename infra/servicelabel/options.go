package servicelabel

import "github.com/tenuto-dev/tenuto/infra"

// DefaultName is the name of the plugin.
const DefaultName = "service-label"

// DefaultPlugin is a plugin with default settings, for programs with a single
// agent. Other programs use NewPlugin.
var DefaultPlugin Plugin

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseLabel sets the label if the flag is not given.
func UseLabel(label string) Option { return func(p *Plugin) { p.label = label } }

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
}
