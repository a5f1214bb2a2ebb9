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
	processFlags bool // use the command line of the process
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

// Plugins adds plugins in this order, without their dependencies. A dependency
// must be listed before the plugin that needs it.
func Plugins(ps ...infra.Plugin) Option {
	return func(o *options) { o.add("Plugins", false, ps) }
}

// AllPlugins adds plugins and, through the exported fields of their Deps, all
// their dependencies. Dependencies come before the plugins that need them.
func AllPlugins(ps ...infra.Plugin) Option {
	return func(o *options) { o.add("AllPlugins", true, ps) }
}

func (o *options) add(option string, deep bool, ps []infra.Plugin) {
	for i, p := range ps {
		o.roots = append(o.roots, root{p, fmt.Sprintf("%s[%d]", option, i), deep})
	}
}

// Name sets the name of the program (default: the name of its file).
func Name(app string) Option { return func(o *options) { o.build.App = app } }

// Version sets the version, date and commit of the build (default "v0.0.0-dev"
// and the commit that the Go toolchain recorded in the binary).
func Version(version, date, commit string) Option {
	return func(o *options) {
		o.build.Version, o.build.Date, o.build.Commit = version, date, commit
	}
}

// Context makes the agent stop when ctx ends. Plugins do not see its values.
func Context(ctx context.Context) Option { return func(o *options) { o.context = ctx } }

// QuitSignals sets the signals that stop the agent (default: SIGINT and
// SIGTERM). Without arguments, no signal stops it.
func QuitSignals(signals ...os.Signal) Option { return func(o *options) { o.signals = signals } }

// QuitOnClose makes the agent stop when the channel is closed, for programs that end
// when their work is done. If the channel is closed during the start, the agent stops
// after the start.
func QuitOnClose(ch <-chan struct{}) Option { return func(o *options) { o.quit = ch } }

// StartTimeout limits the time of the whole start (default 15 s; 0 disables the
// limit). When it expires, Start rolls back and returns an error that names the
// plugin and the phase that did not finish.
func StartTimeout(d time.Duration) Option { return func(o *options) { o.startTimeout = d } }

// StopTimeout limits the time of the whole stop (default 5 s; 0 disables the limit)
// unless --stop-timeout is given. When it expires, the agent abandons the plugin
// that hangs, closes the others, and Stop returns an error that names it.
func StopTimeout(d time.Duration) Option { return func(o *options) { o.stopTimeout = d } }

// useProcess sets the command line of the process.
func (o *options) useProcess() { o.args, o.hasArgs, o.processFlags = os.Args[1:], true, true }

// Args sets the command line, without the name of the program (default: the command line of the
// process; under go test, Start has an empty one). A program with its own command line, or with
// several agents, calls Args, with or without arguments.
func Args(args ...string) Option {
	return func(o *options) { o.args, o.hasArgs = args, true }
}

// Environ sets the environment in which flags are looked up (default: the environment of the
// process).
func Environ(environ config.Environ) Option { return func(o *options) { o.environ = environ } }

// Output sets where Run writes the output of commands: help, version, graph
// and configuration (default: standard output).
func Output(w io.Writer) Option { return func(o *options) { o.output = w } }

// Events adds a listener for the events of the agent. The agent calls it from
// one goroutine at a time. It must not call the agent's Start, Stop or Wait.
func Events(listener func(Event)) Option {
	return func(o *options) { o.listeners = append(o.listeners, listener) }
}

// Logging sets the registry of the agent's loggers (default: one that writes
// to standard error, configured by the flags).
func Logging(r *logging.Registry) Option { return func(o *options) { o.loggers = r } }
