package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
	nat66 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat66"
)

// NAT64GlobalModel has at most one item. All other NAT64 items need it.
var NAT64GlobalModel = models.Of[*nat64.Global]()

// NAT64InterfaceModel is the model of interfaces that take part in NAT64.
var NAT64InterfaceModel = models.Of[*nat64.Interface]()

// NAT64PoolModel is the model of address pools of NAT64. A pool without a name is named by its VRF table and addresses.
var NAT64PoolModel = models.Of[*nat64.Pool]().Named(nat64PoolName)

// NAT64StaticBIBModel is the model of static bindings.
var NAT64StaticBIBModel = models.Of[*nat64.StaticBIB]()

// NAT64PrefixModel is the model of prefixes.
var NAT64PrefixModel = models.Of[*nat64.Prefix]()

// NAT66GlobalModel has at most one item. All other NAT66 items need it.
var NAT66GlobalModel = models.Of[*nat66.Global]()

// NAT66InterfaceModel is the model of interfaces that take part in NAT66.
var NAT66InterfaceModel = models.Of[*nat66.Interface]()

// NAT66MappingModel is the model of mappings.
var NAT66MappingModel = models.Of[*nat66.StaticMapping]()

func nat64PoolName(p *nat64.Pool) string {
	if p.GetName() != "" {
		return p.GetName()
	}
	name := "vrf/" + decimal(p.GetVrfId()) + "/address/" + p.GetFirstIp()
	if p.GetLastIp() != "" && p.GetLastIp() != p.GetFirstIp() {
		name += "-" + p.GetLastIp()
	}
	return name
}
