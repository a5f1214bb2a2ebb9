// Package model places neighbours and routes of Linux in the key space.
package model

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/models"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// ARPModel places neighbours at config/linux/l3/v2/arp/{interface}/{address}.
var ARPModel = models.Of[*l3.ARPEntry]()

// RouteModel places routes at
// config/linux/l3/v2/route/{network}/{prefix length}/{interface}, the network
// without host bits; those of a table of their own have table/{table}/ before that.
var RouteModel = models.Of[*l3.Route]().Named(routeName)

// RuleModel places policy rules at config/linux/l3/v2/rule/{name}.
var RuleModel = models.Of[*l3.Rule]()

// NexthopModel places nexthop objects at config/linux/l3/v2/nexthop/{name}.
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
