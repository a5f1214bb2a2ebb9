// Package logmanager is the plugin that sets the levels of an agent's loggers from
// its configuration file and over HTTP, and that sends entries to syslog, Logstash
// and Fluentd.
package logmanager

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// Plugin applies logs.conf to the loggers of its agent.
type Plugin struct {
	Deps
	host  infra.Host
	hooks []func() // remove the hooks
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	HTTP rest.HTTPHandlers `optional:"true"`
}

// Config is the file logs.conf.
type Config struct {
	DefaultLevel logging.Level `json:"default-level" desc:"level of loggers not listed below: debug, info, warn or error; --initial-loglvl takes precedence"`
	Loggers      []LoggerLevel `json:"loggers" desc:"levels of single loggers"`
	Hooks        Hooks         `json:"hooks" desc:"destinations of entries besides the log itself"`
}

// LoggerLevel is the level of one logger.
type LoggerLevel struct {
	Name  string        `json:"name" desc:"name of a logger (\"vpp-ifplugin\", with its parts) or a pattern (\"vpp-*\")"`
	Level logging.Level `json:"level" desc:"debug, info, warn or error"`
}

// Validate returns an error for entries without a name and for invalid hooks.
func (c Config) Validate() error {
	for i, l := range c.Loggers {
		if l.Name == "" {
			return fmt.Errorf("loggers[%d].name: expected the name of a logger", i)
		}
	}
	return c.Hooks.validate()
}

// ConfigSpec returns the defaults of logs.conf.
func (p *Plugin) ConfigSpec() any { return Config{} }

// SetHost sets the agent whose loggers the plugin configures.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init applies the configuration and adds the endpoints.
func (p *Plugin) Init() error {
	if p.host == nil {
		return fmt.Errorf("plugin %s: needs an agent", p)
	}
	def := Config{DefaultLevel: p.loggers().Level(logging.Default)}
	cfg, _, err := config.Load(p.Cfg, def)
	if err != nil {
		return err
	}
	levels := make([]logging.LoggerLevel, len(cfg.Loggers))
	for i, l := range cfg.Loggers {
		levels[i] = logging.LoggerLevel{Logger: l.Name, Level: l.Level}
	}
	if err := p.loggers().Configure(cfg.DefaultLevel, levels); err != nil {
		return err
	}
	if err := p.send(cfg.Hooks); err != nil {
		return err
	}
	if p.HTTP == nil {
		return nil
	}
	return p.HTTP.Register(p.String(),
		rest.Endpoint{Path: "/log/list", Handler: p.list, Response: []logging.LoggerLevel{}, Doc: "loggers and their levels"},
		rest.Endpoint{
			Path: "/log/{logger}/{level}", Methods: []string{http.MethodPut}, Handler: p.set, Response: logging.LoggerLevel{},
			Doc: `set the level (debug, info, warn, error) of a logger, of a pattern ("vpp-*") or of "default"`,
		},
	)
}

// send starts sending entries.
func (p *Plugin) send(hooks Hooks) error {
	senders, err := hooks.senders(p.host.Build().App)
	if err != nil {
		return err
	}
	for _, s := range senders {
		p.hooks = append(p.hooks, p.loggers().AddHook(s.hook))
		p.Go(func(ctx context.Context) { s.run(ctx, p.Log) })
		p.Log.Debug("sending log entries", "hook", s.name, "network", s.network, "address", s.address)
	}
	return nil
}

// Close sends the remaining entries, if possible.
func (p *Plugin) Close() error {
	p.StopGoroutines()
	for _, remove := range p.hooks {
		remove()
	}
	p.hooks = nil
	return nil
}

func (p *Plugin) loggers() *logging.Registry { return p.host.Loggers() }

func (p *Plugin) list(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, p.loggers().Levels())
}

func (p *Plugin) set(w http.ResponseWriter, r *http.Request) {
	level, err := logging.ParseLevel(r.PathValue("level"))
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	name := r.PathValue("logger")
	if !logging.IsPattern(name) && !p.loggers().Known(name) {
		rest.WriteError(w, http.StatusNotFound, fmt.Errorf("unknown logger %q; /log/list lists the names", name))
		return
	}
	if err := p.loggers().SetLevel(name, level); err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, logging.LoggerLevel{Logger: name, Level: level})
}
