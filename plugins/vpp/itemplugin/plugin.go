// Package itemplugin is the plugin of VPP items that need nothing but the scheduler and the
// interfaces: a Spec says what it registers.
package itemplugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Spec is what distinguishes such plugins.
type Spec struct {
	// Name of the plugin.
	Name string
	// Config is the configuration without a file, a struct. Default: the plugin has none.
	Config any
	// Operations of VPP that the items need.
	Operations session.Operations
	// Register registers the descriptors with to.Add.
	Register func(to *Registrar) error
}

// Registrar is what Register works with.
type Registrar struct {
	// VPP is the southbound.
	VPP *session.VPP
	// Interfaces that exist in VPP.
	Interfaces item.Interfaces
	// Scheduler is notified of what VPP reports.
	Scheduler kvs.Notifier
	// Config is Spec.Config as the configuration file changes it.
	Config any

	plugin *Plugin
}

// Add registers descriptors.
func (r *Registrar) Add(descriptors ...*kvs.KVDescriptor) error {
	if err := r.plugin.IfPlugin.Resolving(r.plugin.Scheduler).RegisterKVDescriptor(descriptors...); err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	return nil
}

// Indexes returns the indexes of the objects of a descriptor that was added.
func (r *Registrar) Indexes(descriptor string) (item.Indexes, error) {
	return item.NewIndexes(r.Metadata(descriptor))
}

// Metadata returns the metadata map of a descriptor that was added.
func (r *Registrar) Metadata(descriptor string) idxmap.Reader {
	return r.plugin.Scheduler.GetMetadataMap(descriptor)
}

// Follow calls f for each session with VPP, in a goroutine. The context ends with the session.
// If f fails before, it is called again after a while.
func (r *Registrar) Follow(f func(ctx context.Context) error) {
	r.plugin.IfPlugin.Follow(func(ctx context.Context) {
		for {
			err := f(ctx)
			if ctx.Err() != nil || err == nil {
				return
			}
			if !errors.Is(err, binapi.ErrDisconnected) {
				r.plugin.Log.Warn("what VPP reports is not followed; trying again", "pause", followAgain, "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(followAgain):
			}
		}
	})
}

// followAgain is how long Follow waits after an error.
const followAgain = time.Second

// Plugin handles the items of a Spec.
type Plugin struct {
	Deps

	spec Spec
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler Scheduler
	// IfPlugin knows the interfaces and the session with VPP.
	IfPlugin ifplugin.API
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	kvs.Registrar
	kvs.Notifier
}

var _ infra.Plugin = (*Plugin)(nil)

// Spec returns what the plugin registers.
func (p *Plugin) Spec() Spec { return p.spec }

// ConfigSpec returns the defaults of the configuration, nil if there is none.
func (p *Plugin) ConfigSpec() any { return p.spec.Config }

// Init registers the descriptors.
func (p *Plugin) Init() error {
	to := &Registrar{VPP: p.IfPlugin.Southbound(), Interfaces: p.IfPlugin.Interfaces(), Scheduler: p.Scheduler, plugin: p}
	if p.spec.Config != nil {
		cfg, _, err := config.LoadAny(p.Cfg, p.spec.Config)
		if err != nil {
			return err
		}
		to.Config = cfg
	}
	p.IfPlugin.Offer(p.spec.Operations.Capabilities()...)
	return p.spec.Register(to)
}
