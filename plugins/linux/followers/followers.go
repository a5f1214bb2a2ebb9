// Package followers reports values in network namespaces that another process may have changed, as
// the events of the kernel report.
package followers

import (
	"context"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Scheduler is the part of the scheduler that is used.
type Scheduler interface {
	GetMetadataMap(descriptor string) idxmap.Reader
	ReportLost(keys ...string) error
}

// Interfaces reports the events of namespaces; see ifplugin.API.
type Interfaces interface {
	Follow(ifplugin.Follower)
	Look(ns *namespace.NetNamespace)
}

// Values are the values of a descriptor, with metadata of type M.
type Values[M any] struct {
	// Scheduler handles the values.
	Scheduler Scheduler
	// Log receives what a method cannot return.
	Log logging.Logger
	// Descriptor is the name of the descriptor.
	Descriptor string
	// Key returns the key of a value by its name in the metadata.
	Key func(name string) string
	// Namespace returns the namespace of a value; nil is the agent's own.
	Namespace func(M) *namespace.NetNamespace
	// Kind is the kind of the events about the values.
	Kind netlinkapi.EventKind
	// At returns the names of the values that an event in a namespace may be about.
	At func(all idxmap.Map[M], ns *namespace.NetNamespace, e netlinkapi.Event) []string
}

var _ ifplugin.Follower = Values[struct{}]{}

// Index returns the metadata of the values by name; an error if the descriptor is not
// registered.
func (f Values[M]) Index() (idxmap.Map[M], error) {
	return idxmap.Of[M](f.Scheduler.GetMetadataMap(f.Descriptor))
}

// Uses reports whether there are values in a namespace; see ifplugin.Follower.
func (f Values[M]) Uses(use func(*namespace.NetNamespace) bool) bool {
	all, err := f.Index()
	if err != nil {
		return false
	}
	for _, meta := range all.All() {
		if use(f.Namespace(meta)) {
			return true
		}
	}
	return false
}

// Event reports the values that an event may be about; see ifplugin.Follower.
func (f Values[M]) Event(ns *namespace.NetNamespace, e netlinkapi.Event) {
	all, err := f.Index()
	if err != nil || e.Kind != f.Kind {
		return
	}
	f.Report(f.At(all, ns, e)...)
}

// Missed reports all values in a namespace; see ifplugin.Follower.
func (f Values[M]) Missed(ns *namespace.NetNamespace) {
	all, err := f.Index()
	if err != nil {
		return
	}
	var names []string
	for name, meta := range all.All() {
		if nsmodel.Equal(f.Namespace(meta), ns) {
			names = append(names, name)
		}
	}
	f.Report(names...)
}

// Report reports values by their names. The scheduler reads them, so what the agent itself
// changed is no loss.
func (f Values[M]) Report(names ...string) {
	if len(names) == 0 {
		return
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = f.Key(name)
	}
	if err := f.Scheduler.ReportLost(keys...); err != nil {
		f.Log.Debug("lost values were not reported", "keys", keys, "error", err)
	}
}

// FollowNamespaces makes the interfaces follow the namespaces of the values; see Follow of
// ifplugin.API, which comes first. run runs a function until the plugin is closed. An error means
// that the descriptor is not registered.
func (f Values[M]) FollowNamespaces(interfaces Interfaces, run func(func(ctx context.Context))) error {
	all, err := f.Index()
	if err != nil {
		return err
	}
	run(func(ctx context.Context) {
		for c := range all.Changes(ctx) {
			interfaces.Look(f.Namespace(c.Value))
		}
	})
	return nil
}
