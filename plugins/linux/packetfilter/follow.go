package packetfilter

import (
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/followers"
	"github.com/tenuto-dev/tenuto/plugins/linux/itemplugin"
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

// Register returns the function that registers a descriptor, for a plugin; key returns the key of
// an item by its name. Items in tables that other processes change are read, and repaired if they
// differ.
func Register(name string, descriptor func(Deps) *api.KVDescriptor, key func(name string) string) func(to *itemplugin.Registrar) error {
	return func(to *itemplugin.Registrar) error {
		if err := to.Add(descriptor(Deps{Namespaces: to.Namespaces, Label: to.Label, Log: to.Log})); err != nil {
			return err
		}
		to.Follow(followers.Values[Metadata]{
			Scheduler: to.Scheduler, Log: to.Log, Descriptor: name, Key: key, Kind: netlinkapi.TableChanged,
			Namespace: func(m Metadata) *namespace.NetNamespace { return m.Namespace },
			At: func(all idxmap.Map[Metadata], ns *namespace.NetNamespace, e netlinkapi.Event) []string {
				return byTable.Lookup(all, tableIn{nsmodel.Text(ns), e.NFTable})
			},
		})
		return nil
	}
}
