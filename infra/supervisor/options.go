package supervisor

import (
	"cmp"
	"io"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/process"
)

// DefaultName is the name of the plugin; its configuration file is
// supervisor.conf.
const DefaultName = "supervisor"

// DefaultPlugin is a plugin with default settings, for programs with a single
// agent. Other programs use NewPlugin.
var DefaultPlugin Plugin

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// UseOutput sets the destination of the output of programs without a log file
// (default: the output of this process).
func UseOutput(stdout, stderr io.Writer) Option {
	return func(p *Plugin) { p.stdout, p.stderr = stdout, stderr }
}

// SetDefaults sets the missing settings.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.Processes == nil {
		p.Processes = process.NewPlugin()
	}
	p.stdout, p.stderr = cmp.Or[io.Writer](p.stdout, os.Stdout), cmp.Or[io.Writer](p.stderr, os.Stderr)
}
