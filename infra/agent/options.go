package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Option is a setting of an agent.
type Option func(*options)

type options struct {
	roots        []root
	build        infra.Build
	context      context.Context
	signals      []os.Signal
	quit         <-chan struct{}
	startTimeout time.Duration
	stopTimeout  time.Duration
	args         []string
	hasArgs      bool
	environ      config.Environ
	output       io.Writer
	listeners    []func(Event)
	loggers      *logging.Registry
}

func defaultOptions() options {
	return options{
		build:        infra.Build{App: filepath.Base(os.Args[0]), Version: "v0.0.0-dev"},
		context:      context.Background(),
		signals:      []os.Signal{os.Interrupt, syscall.SIGTERM},
		startTimeout: 15 * time.Second,
		stopTimeout:  5 * time.Second,
		output:       os.Stdout,
	}
}

// Plugins adds plugins, in this order, without what they need; a dependency
// has to be listed before the plugin that needs it.
func Plugins(ps ...infra.Plugin) Option {
	return func(o *options) { o.add("Plugins", false, ps) }
}

// AllPlugins adds plugins and, through the exported fields of their Deps, all
// that they need. Dependencies come before the plugins that need them.
func AllPlugins(ps ...infra.Plugin) Option {
	return func(o *options) { o.add("AllPlugins", true, ps) }
}

func (o *options) add(option string, deep bool, ps []infra.Plugin) {
	for i, p := range ps {
		o.roots = append(o.roots, root{p, fmt.Sprintf("%s[%d]", option, i), deep})
	}
}

// Name sets the name of the program (default: that of its file).
func Name(app string) Option { return func(o *options) { o.build.App = app } }

// Version says what was built, when, and from which commit (default
// "v0.0.0-dev"; the commit is taken from the binary where Go put it there).
func Version(version, date, commit string) Option {
	return func(o *options) {
		o.build.Version, o.build.Date, o.build.Commit = version, date, commit
	}
}

// Context makes the agent stop when ctx ends. Plugins do not see its values.
func Context(ctx context.Context) Option { return func(o *options) { o.context = ctx } }

// QuitSignals sets the signals that stop the agent (default: SIGINT and
// SIGTERM); without arguments no signal does.
func QuitSignals(signals ...os.Signal) Option { return func(o *options) { o.signals = signals } }

// QuitOnClose makes the agent stop when the channel is closed: a program whose work is
// done. If that happens during the start, the agent stops after it.
func QuitOnClose(ch <-chan struct{}) Option { return func(o *options) { o.quit = ch } }

// StartTimeout bounds the start as a whole (default 15 s; 0 means no bound).
// When it is over, Start rolls back and returns an error that names the plugin
// and the phase which took too long.
func StartTimeout(d time.Duration) Option { return func(o *options) { o.startTimeout = d } }

// StopTimeout bounds the stop as a whole (default 5 s; 0 means no bound) unless
// --stop-timeout is given. When it is over, the plugin that hangs is left behind,
// the others are closed, and Stop returns an error that names it.
func StopTimeout(d time.Duration) Option { return func(o *options) { o.stopTimeout = d } }

// Args sets the command line, without the name of the program (default: that
// of the process for Run, an empty one for Start).
func Args(args ...string) Option {
	return func(o *options) { o.args, o.hasArgs = args, true }
}

// Environ sets the environment in which flags are looked up (default: that of
// the process).
func Environ(environ config.Environ) Option { return func(o *options) { o.environ = environ } }

// Output sets where Run writes what it was asked for on the command line: the
// help, the version, the graph, the configuration (default: standard output).
func Output(w io.Writer) Option { return func(o *options) { o.output = w } }

// Events adds a function that is told what happens in the life of the agent,
// one call at a time. It must not call the agent's Start, Stop or Wait.
func Events(listener func(Event)) Option {
	return func(o *options) { o.listeners = append(o.listeners, listener) }
}

// Logging sets the registry of the agent's loggers (default: one that writes
// to standard error as the flags say).
func Logging(r *logging.Registry) Option { return func(o *options) { o.loggers = r } }
