// Package model places IPsec items of VPP in the key space.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// SPDModel places policy databases at config/vpp/ipsec/v2/spd/{index}.
var SPDModel = models.Of[*ipsec.SecurityPolicyDatabase]()

// SPModel places policies at config/vpp/ipsec/v2/sp/spd/{index}/sa/{index}/
// {inbound|outbound}/local-addresses/{start}-{stop}/remote-addresses/{start}-{stop}.
var SPModel = models.Of[*ipsec.SecurityPolicy]().Named(spName)

// SAModel places associations at config/vpp/ipsec/v2/sa/{index}.
var SAModel = models.Of[*ipsec.SecurityAssociation]()

// TunnelProtectionModel places protections of tunnels at
// config/vpp/ipsec/v2/tun-protect/{interface}[/nh/{next hop}].
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
