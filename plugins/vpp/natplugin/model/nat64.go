package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
	nat66 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat66"
)

// NAT64GlobalModel is the only item at config/vpp/nat64/v1/global; all other
// NAT64 items need it.
var NAT64GlobalModel = models.Of[*nat64.Global]()

// NAT64InterfaceModel places interfaces that take part in NAT64 at
// config/vpp/nat64/v1/interface/{name}.
var NAT64InterfaceModel = models.Of[*nat64.Interface]()

// NAT64PoolModel places address pools at config/vpp/nat64/v1/pool/{name}, and
// pools without a name at .../vrf/{id}/address/{first}[-{last}].
var NAT64PoolModel = models.Of[*nat64.Pool]().Named(nat64PoolName)

// NAT64StaticBIBModel places static bindings at config/vpp/nat64/v1/static-bib/
// vrf/{id}/protocol/{TCP|UDP|ICMP}/inside/{address}/{port}.
var NAT64StaticBIBModel = models.Of[*nat64.StaticBIB]()

// NAT64PrefixModel places prefixes at config/vpp/nat64/v1/prefix/vrf/{id}.
var NAT64PrefixModel = models.Of[*nat64.Prefix]()

// NAT66GlobalModel is the only item at config/vpp/nat66/v1/global; all other
// NAT66 items need it.
var NAT66GlobalModel = models.Of[*nat66.Global]()

// NAT66InterfaceModel places interfaces that take part in NAT66 at
// config/vpp/nat66/v1/interface/{name}.
var NAT66InterfaceModel = models.Of[*nat66.Interface]()

// NAT66MappingModel places mappings at
// config/vpp/nat66/v1/static-mapping/vrf/{id}/local/{address}.
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
