package packetfilter

import (
	"context"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/followers"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// byTable finds items by their table.
var byTable = idxmap.Index[Metadata, tableIn]{
	Name: "table",
	Keys: func(m Metadata) []tableIn { return []tableIn{{nsmodel.Text(m.Namespace), m.Table}} },
}

// tableIn is a table in a namespace.
type tableIn struct {
	namespace string
	table     netlinkapi.NFTable
}

// Follower follows the items of a descriptor: those in tables that other programs change are
// read, and repaired if they differ.
type Follower struct{ followers.Values[Metadata] }

// NewFollower returns a follower of a descriptor; key returns the key of an item by its name.
func NewFollower(scheduler followers.Scheduler, log logging.Logger, descriptor string, key func(name string) string) Follower {
	return Follower{followers.Values[Metadata]{
		Scheduler: scheduler, Log: log, Descriptor: descriptor, Key: key, Kind: netlinkapi.TableChanged,
		Namespace: func(m Metadata) *namespace.NetNamespace { return m.Namespace },
		At: func(all idxmap.Map[Metadata], ns *namespace.NetNamespace, e netlinkapi.Event) []string {
			return byTable.Lookup(all, tableIn{nsmodel.Text(ns), e.NFTable})
		},
	}}
}

// Start follows the namespaces of the items; run runs a function until the plugin is closed.
func (f Follower) Start(interfaces followers.Interfaces, run func(func(ctx context.Context))) error {
	all, err := f.Index()
	if err != nil {
		return err
	}
	run(func(ctx context.Context) { f.FollowNamespaces(ctx, all, interfaces) })
	return nil
}
