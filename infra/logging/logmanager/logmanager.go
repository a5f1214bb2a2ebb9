// Package logmanager is the plugin that sets the levels of an agent's loggers:
// from its configuration file at the start, over HTTP later.
package logmanager

import (
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
	host infra.Host
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
	HTTP rest.HTTPHandlers `optional:"true"`
}

// Config is the file logs.conf.
type Config struct {
	DefaultLevel logging.Level `json:"default-level" desc:"level of loggers not listed below: debug, info, warn or error; --initial-loglvl wins over it"`
	Loggers      []LoggerLevel `json:"loggers" desc:"levels of single loggers"`
}

// LoggerLevel is the level of one logger.
type LoggerLevel struct {
	Name  string        `json:"name" desc:"name of a logger (\"vpp-ifplugin\", with its parts) or a pattern (\"vpp-*\")"`
	Level logging.Level `json:"level" desc:"debug, info, warn or error"`
}

// Validate says which entries lack a name.
func (c Config) Validate() error {
	for i, l := range c.Loggers {
		if l.Name == "" {
			return fmt.Errorf("loggers[%d].name: expected the name of a logger", i)
		}
	}
	return nil
}

// ConfigSpec returns the defaults of logs.conf.
func (p *Plugin) ConfigSpec() any { return Config{} }

// SetHost tells the plugin whose loggers it sets.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init applies the configuration and adds the endpoints.
func (p *Plugin) Init() error {
	if p.host == nil {
		return fmt.Errorf("plugin %s: runs under an agent only", p)
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
	if p.HTTP == nil {
		return nil
	}
	return p.HTTP.Register(p.String(),
		rest.Endpoint{Path: "/log/list", Handler: p.list, Doc: "loggers and their levels"},
		rest.Endpoint{
			Path: "/log/{logger}/{level}", Methods: []string{http.MethodPut}, Handler: p.set,
			Doc: `set the level (debug, info, warn, error) of a logger, of a pattern ("vpp-*") or of "default"`,
		},
	)
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
		rest.WriteError(w, http.StatusNotFound, fmt.Errorf("no logger %q; /log/list has their names", name))
		return
	}
	if err := p.loggers().SetLevel(name, level); err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, logging.LoggerLevel{Logger: name, Level: level})
}
