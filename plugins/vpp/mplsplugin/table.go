package mplsplugin

import (
	"fmt"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/mpls"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/mplsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
)

// Names of the descriptors.
const (
	TableName     = "vpp-mpls-table"
	InterfaceName = "vpp-mpls-interface"
	RouteName     = "vpp-mpls-route"
)

// maxName is the longest name of a table, in bytes.
const maxName = 63

var tables = item.Declare("MPLS table", "", item.Variant[mpls.MplsTable]{
	Change: func(t mpls.MplsTable, add bool) (request, reply api.Message) {
		return &mpls.MplsTableAddDel{MtIsAdd: add, MtTable: t}, &mpls.MplsTableAddDelReply{}
	},
	Dumps: []item.Dump[mpls.MplsTable]{item.List(&mpls.MplsTableDump{},
		func(d *mpls.MplsTableDetails) (mpls.MplsTable, bool) { return d.MtTable, true })},
})

// NewTable describes tables of MPLS routes. VPP accepts every request: a table that exists keeps
// its name, and one that is deleted stays while interfaces or routes of other clients use it.
func NewTable(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*pb.Table, mpls.MplsTable, uint32]{
		Name: TableName, Model: model.TableModel, Operation: tables,
		Resolve: func(r *item.Resolver, v *pb.Table) mpls.MplsTable {
			if n := len(v.GetLabel()); n > maxName {
				r.Fail("label", "has %d bytes, expected at most %d", n, maxName)
			}
			name := v.GetLabel()
			if name == "" {
				name = defaultName(v.GetId())
			}
			return mpls.MplsTable{MtTableID: v.GetId(), MtName: name}
		},
		ID: func(t mpls.MplsTable) uint32 { return t.MtTableID },
		Value: func(_ *item.Names, t mpls.MplsTable) *pb.Table {
			v := &pb.Table{Id: t.MtTableID, Label: t.MtName}
			if v.Label == defaultName(t.MtTableID) {
				v.Label = ""
			}
			return v
		},
		Learned: byOthers[mpls.MplsTable],
	})
}

// defaultName is what VPP calls a table.
func defaultName(id uint32) string { return fmt.Sprintf("MPLS-VRF:%d", id) }

// byOthers is for Learned: what is not expected may be of another client of VPP.
func byOthers[E any](E) bool { return false }
