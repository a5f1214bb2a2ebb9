// Package model places MPLS items of VPP in the key space.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	mpls "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
)

// TableModel is the model of MPLS tables.
var TableModel = models.Of[*mpls.Table]()

// InterfaceModel is the model of interfaces that accept MPLS packets.
var InterfaceModel = models.Of[*mpls.Interface]()

// RouteModel is the model of MPLS routes.
var RouteModel = models.Of[*mpls.Route]().Named(routeName)

// TableKey returns the key of an MPLS table.
func TableKey(id uint32) string { return TableModel.Key(&mpls.Table{Id: id}) }

func routeName(r *mpls.Route) string {
	name := "table/" + decimal(r.GetTableId()) + "/label/" + decimal(r.GetLabel())
	if r.GetStacked() {
		name += "/stacked"
	}
	return name
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
