package kvdbsync

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin for one store, which is set by UseKV.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseKV sets the store.
func UseKV(store kv.Store) Option { return func(p *Plugin) { p.KvPlugin = store } }

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// SetDefaults sets the default name ("kvdb-etcd-datasync") and label if they
// are missing.
func (p *Plugin) SetDefaults() {
	if p.ServiceLabel == nil {
		p.ServiceLabel = &servicelabel.DefaultPlugin
	}
	if store, ok := p.KvPlugin.(infra.Defaulter); ok {
		store.SetDefaults() // a DefaultPlugin has no name yet
	}
	if p.String() != "" {
		return
	}
	p.SetName("kvdb-datasync")
	if p.KvPlugin != nil {
		p.SetName("kvdb-" + p.KvPlugin.String() + "-datasync")
	}
}
