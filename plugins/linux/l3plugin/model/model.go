// Package model places neighbours and routes of Linux in the key space.
package model

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/models"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// ARPModel is the model of neighbours.
var ARPModel = models.Of[*l3.ARPEntry]()

// RouteModel is the model of routes. Their names contain the network without host bits.
var RouteModel = models.Of[*l3.Route]().Named(routeName)

// RuleModel is the model of policy rules.
var RuleModel = models.Of[*l3.Rule]()

// NexthopModel is the model of nexthop objects.
var NexthopModel = models.Of[*l3.Nexthop]()

// LinkLocalRouteKey is a property of a route with scope LINK: the destination
// (an address, a network, or a reference to an allocation) is attached to the
// interface, so gateways within it are reachable.
var LinkLocalRouteKey = models.MustKeyTemplate("linux/link-local-route/{iface}/dest-address/{dst}")

func routeName(r *l3.Route) string {
	name := netallocmodel.NetworkKeyPart(r.GetDstNetwork()) + "/" + r.GetOutgoingInterface()
	if r.GetTable() != 0 {
		name = fmt.Sprintf("table/%d/%s", r.GetTable(), name)
	}
	return name
}
