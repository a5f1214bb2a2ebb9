// Package filedb is the plugin that uses files as a key-value store: every
// file contains some of the entries, and editing a file changes them while the
// agent runs.
//
// A file that cannot be read, or is malformed, keeps the entries of its last
// valid content. If only some entries of a file have errors, the others take
// effect, but no entry counts as removed until the errors are fixed. While there
// is a file that was never read without errors, the store reports that its
// content is incomplete. If files have different values for the same key, the
// value in effect stays until the conflict is resolved; without one, the file
// whose path is last in alphabetical order wins.
package filedb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Plugin is the store of files.
type Plugin struct {
	Deps
	base    *Config // of UseConf; nil if it was not used
	cfg     Config
	enabled bool
	clock   clock // nil before Init: the system clock

	status   sync.Mutex // guards published and the status file
	outgoing published
	// refused are the errors in the files that concern one key.
	refused atomic.Pointer[map[string][]error]
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Format parses the files. It may be nil only if the plugin is disabled.
	Format kv.Format `optional:"true"`
}

// Config is the file filedb.conf. Without that file the plugin is disabled.
type Config struct {
	ConfigurationPaths []string      `json:"configuration-paths" desc:"files, and directories whose files *.json, *.yaml and *.yml are read; those that do not exist may appear later"`
	StatusPath         string        `json:"status-path" desc:"file that published values are written to, in JSON; empty disables publishing"`
	PollInterval       time.Duration `json:"poll-interval" desc:"interval of polling for changes without a notification of the file system"`
}

// DefaultConfig returns the values for keys that the configuration file lacks.
func DefaultConfig() Config { return Config{PollInterval: 500 * time.Millisecond} }

// Validate says which keys have impossible values.
func (c Config) Validate() error {
	if c.PollInterval < 10*time.Millisecond || c.PollInterval > time.Hour {
		return fmt.Errorf("poll-interval: %v: expected 10ms to 1h", c.PollInterval)
	}
	for i, p := range c.ConfigurationPaths {
		if p == "" {
			return fmt.Errorf("configuration-paths[%d]: expected the path of a file or a directory", i)
		}
	}
	return nil
}

var (
	_ kv.Store      = (*Plugin)(nil)
	_ kv.BulkWriter = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of filedb.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.base, DefaultConfig()) }

// Init reads the configuration.
func (p *Plugin) Init() error {
	def := config.Or(p.base, DefaultConfig())
	def.PollInterval = cmp.Or(def.PollInterval, DefaultConfig().PollInterval)
	cfg, found, err := config.Load(p.Cfg, def)
	if err != nil {
		return err
	}
	p.cfg, p.enabled = cfg, found || p.base != nil
	if !p.enabled {
		p.Log.Debug("disabled: there is no configuration file")
		return nil
	}
	if p.clock == nil {
		p.clock = systemClock{}
	}
	if p.Format == nil {
		return errors.New("filedb: Deps.Format is nil: expected the format of the files")
	}
	for i, path := range p.cfg.ConfigurationPaths {
		if p.cfg.ConfigurationPaths[i], err = filepath.Abs(path); err != nil {
			return fmt.Errorf("configuration-paths[%d]: %w", i, err)
		}
	}
	if p.cfg.StatusPath != "" {
		if p.cfg.StatusPath, err = filepath.Abs(p.cfg.StatusPath); err != nil {
			return fmt.Errorf("status-path: %w", err)
		}
	}
	return nil
}

// Disabled reports that there is no configuration file.
func (p *Plugin) Disabled() bool { return !p.enabled }

// Writable reports that values can be published: status-path is configured.
func (p *Plugin) Writable() bool { return p.enabled && p.cfg.StatusPath != "" }

// Watch follows the files, see kv.Store. Each call follows them on its own.
func (p *Plugin) Watch(ctx context.Context, prefix string, handle func(kv.Update) error) error {
	f := &follower{
		p: p, log: p.Log, clock: p.clock, handle: handle,
		reader: newReader(p.Format, prefix, p.cfg.ConfigurationPaths, p.cfg.StatusPath, p.clock.Now),
	}
	return f.run(ctx)
}

// Refused implements kv.Refuser with the errors of the last read.
func (p *Plugin) Refused(key string) error {
	if refused := p.refused.Load(); refused != nil {
		return errors.Join((*refused)[key]...)
	}
	return nil
}

// Put publishes a value to the file named by status-path; nil removes it. TTLs
// are not supported, since a file cannot expire entries.
func (p *Plugin) Put(key string, value proto.Message, opts ...kv.PutOption) error {
	if err := supported(key, opts); err != nil {
		return err
	}
	return p.publish("put", key, func() error { return p.outgoing.set(key, value) })
}

func supported(subject string, opts []kv.PutOption) error {
	if o := kv.CollectPut(opts); o.TTL > 0 || o.ClientLifetime {
		return fmt.Errorf("put %s: a file keeps values until they are deleted: %w", subject, kv.ErrNotSupported)
	}
	return nil
}

// PutAll publishes many values, and writes the file once for all of them.
func (p *Plugin) PutAll(values map[string]proto.Message, opts ...kv.PutOption) error {
	subject := fmt.Sprintf("%d values", len(values))
	if err := supported(subject, opts); err != nil {
		return err
	}
	return p.publish("put", subject, func() error {
		for key, value := range values {
			if err := p.outgoing.set(key, value); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return nil
	})
}

// Delete removes a published value, or with kv.WithPrefix all whose keys begin
// with the key.
func (p *Plugin) Delete(key string, opts ...kv.DelOption) (existed bool, err error) {
	err = p.publish("delete", key, func() error {
		n := len(p.outgoing)
		if kv.CollectDel(opts).Prefix {
			maps.DeleteFunc(p.outgoing, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, key) })
		} else {
			delete(p.outgoing, key)
		}
		existed = len(p.outgoing) < n
		return nil
	})
	return existed && err == nil, err
}

// publish changes the published values and writes the file; if that fails, it
// changes nothing. subject is the changed key, for errors.
func (p *Plugin) publish(what, subject string, change func() error) error {
	if p.cfg.StatusPath == "" {
		return fmt.Errorf("%s %s: expected status-path in %s.conf", what, subject, p)
	}
	p.status.Lock()
	defer p.status.Unlock()
	before := maps.Clone(p.outgoing)
	err := change()
	if err == nil {
		err = p.outgoing.write(p.cfg.StatusPath)
	}
	if err != nil {
		p.outgoing = before
		return fmt.Errorf("%s %s: %w", what, subject, err)
	}
	return nil
}
