package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
	nat66 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat66"
)

// NAT64GlobalModel is the only item at config/vpp/nat64/v1/global; all other
// NAT64 items need it.
var NAT64GlobalModel = models.Singleton[*nat64.Global](models.Spec{Module: "vpp.nat64", Version: "v1", Type: "global"})

// NAT64InterfaceModel places interfaces that take part in NAT64 at
// config/vpp/nat64/v1/interface/{name}.
var NAT64InterfaceModel = models.New(
	models.Spec{Module: "vpp.nat64", Version: "v1", Type: "interface"}, (*nat64.Interface).GetName)

// NAT64PoolModel places address pools at config/vpp/nat64/v1/pool/{name}, and
// pools without a name at .../vrf/{id}/address/{first}[-{last}].
var NAT64PoolModel = models.New(models.Spec{Module: "vpp.nat64", Version: "v1", Type: "pool"}, nat64PoolName)

// NAT64StaticBIBModel places static bindings at config/vpp/nat64/v1/static-bib/
// vrf/{id}/protocol/{TCP|UDP|ICMP}/inside/{address}/{port}.
var NAT64StaticBIBModel = models.New(models.Spec{Module: "vpp.nat64", Version: "v1", Type: "static-bib"}, nat64BIBName)

// NAT64PrefixModel places prefixes at config/vpp/nat64/v1/prefix/vrf/{id}.
var NAT64PrefixModel = models.New(models.Spec{Module: "vpp.nat64", Version: "v1", Type: "prefix"},
	func(p *nat64.Prefix) string { return "vrf/" + decimal(p.GetVrfId()) })

// NAT66GlobalModel is the only item at config/vpp/nat66/v1/global; all other
// NAT66 items need it.
var NAT66GlobalModel = models.Singleton[*nat66.Global](models.Spec{Module: "vpp.nat66", Version: "v1", Type: "global"})

// NAT66InterfaceModel places interfaces that take part in NAT66 at
// config/vpp/nat66/v1/interface/{name}.
var NAT66InterfaceModel = models.New(
	models.Spec{Module: "vpp.nat66", Version: "v1", Type: "interface"}, (*nat66.Interface).GetName)

// NAT66MappingModel places mappings at
// config/vpp/nat66/v1/static-mapping/vrf/{id}/local/{address}.
var NAT66MappingModel = models.New(models.Spec{Module: "vpp.nat66", Version: "v1", Type: "static-mapping"},
	func(m *nat66.StaticMapping) string {
		return "vrf/" + decimal(m.GetVrfId()) + "/local/" + m.GetLocalAddr()
	})

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

func nat64BIBName(b *nat64.StaticBIB) string {
	return "vrf/" + decimal(b.GetVrfId()) + "/protocol/" + b.GetProtocol().String() + "/inside/" + b.GetInsideAddr() +
		"/" + decimal(b.GetInsidePort())
}
