// Package initfile is the plugin that provides a file as the initial
// configuration. It reads the file once, at the start, and does not follow it.
// Use it as the store with the lowest priority.
package initfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// DefaultName is the name of the plugin; its configuration file is
// initfileregistry.conf.
const DefaultName = "initfileregistry"

// Plugin is a store whose content never changes.
type Plugin struct {
	Deps
	cfg  Config
	text []byte // nil: there is no file
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Format reads the file.
	Format kv.Format
}

// Config is the file initfileregistry.conf.
type Config struct {
	Disable bool   `json:"disable-initial-configuration" desc:"do not read the initial configuration"`
	Path    string `json:"initial-configuration-file-path" desc:"file with the initial configuration; it need not exist"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config { return Config{Path: "initial-config.yaml"} }

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings, which must include
// UseFormat.
func NewPlugin(opts ...Option) *Plugin {
	p := &Plugin{}
	p.SetName(DefaultName)
	for _, o := range opts {
		o(p)
	}
	return p
}

// UseFormat sets the format of the file.
func UseFormat(f kv.Format) Option { return func(p *Plugin) { p.Format = f } }

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

var _ kv.Store = (*Plugin)(nil)

// ConfigSpec returns the defaults of initfileregistry.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init reads the file. It returns an error if the file is invalid, because it
// is not read again while the agent runs.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, DefaultConfig())
	if err != nil {
		return err
	}
	p.cfg, p.text = cfg, nil
	if cfg.Disable {
		return nil
	}
	text, err := os.ReadFile(cfg.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("initial configuration: %w", err)
	}
	p.text = text
	if errs := p.Format.Read(cfg.Path, text, "").Errs; len(errs) > 0 {
		return fmt.Errorf("initial configuration: %w", errors.Join(errs...))
	}
	return nil
}

// Disabled reports that there is no initial configuration.
func (p *Plugin) Disabled() bool { return p.text == nil }

// Watch passes the content of the file to handle.
func (p *Plugin) Watch(ctx context.Context, prefix string, handle func(kv.Update) error) error {
	content := p.Format.Read(p.cfg.Path, p.text, prefix)
	u := kv.Update{Resync: true}
	for _, e := range content.Entries {
		u.Changes = append(u.Changes, kv.Change{Entry: e})
	}
	if err := handle(u); err != nil {
		p.Log.Debug("receiver could not apply everything", "error", err)
	}
	<-ctx.Done()
	return nil
}
