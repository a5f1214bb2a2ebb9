// Package model places IPsec items of VPP in the key space.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// SPDModel is the model of policy databases.
var SPDModel = models.Of[*ipsec.SecurityPolicyDatabase]()

// SPModel is the model of policies.
var SPModel = models.Of[*ipsec.SecurityPolicy]().Named(spName)

// SAModel is the model of associations.
var SAModel = models.Of[*ipsec.SecurityAssociation]()

// TunnelProtectionModel is the model of protections of tunnels.
var TunnelProtectionModel = models.Of[*ipsec.TunnelProtection]()

// SPDInterfaceKey is the use of a policy database on an interface, derived
// from the database; it carries SecurityPolicyDatabase.Interface.
var SPDInterfaceKey = models.MustKeyTemplate("vpp/spd/{spd}/interface/{iface}")

func spName(p *ipsec.SecurityPolicy) string {
	direction := "inbound"
	if p.GetIsOutbound() {
		direction = "outbound"
	}
	return "spd/" + decimal(p.GetSpdIndex()) + "/sa/" + decimal(p.GetSaIndex()) + "/" + direction +
		"/local-addresses/" + p.GetLocalAddrStart() + "-" + p.GetLocalAddrStop() +
		"/remote-addresses/" + p.GetRemoteAddrStart() + "-" + p.GetRemoteAddrStop()
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
