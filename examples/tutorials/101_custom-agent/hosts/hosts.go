// Package hosts is the plugin of the tutorial. It keeps a file of host names, each
// for as long as the VPP interface exists through which the host is reached.
//
// The layout is the same as in all plugins: model/ has the message and its keys,
// descriptor/ one file for each kind of item, options.go the constructor.
package hosts

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/descriptor"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Plugin handles hosts.
type Plugin struct {
	Deps
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler is the part of the KV Scheduler that descriptors are given to.
	Scheduler api.Registrar
}

// Config is the file hosts.conf.
type Config struct {
	Path string `json:"path" desc:"file of the host names"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config { return Config{Path: filepath.Join(os.TempDir(), "tutorial-hosts")} }

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	if c.Path == "" {
		return errors.New("path: expected the path of a file")
	}
	return nil
}

// ConfigSpec returns the defaults of hosts.conf, for "config print".
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init registers the descriptor.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, DefaultConfig())
	if err != nil {
		return err
	}
	p.Log.Info("keeping host names", "file", cfg.Path)
	return p.Scheduler.RegisterKVDescriptor(descriptor.NewHostDescriptor(&file{path: cfg.Path}))
}
