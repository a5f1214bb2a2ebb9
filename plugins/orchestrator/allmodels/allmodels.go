// Package allmodels is the set of all configuration models that the agent
// serves to its northbound.
package allmodels

import (
	"sync"

	"github.com/tenuto-dev/tenuto/infra/models"
	linuxifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	iptablesmodel "github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/model"
	linuxl3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	nftablesmodel "github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin/model"
	linuxpuntmodel "github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/model"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	abfmodel "github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/model"
	aclmodel "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	bfdmodel "github.com/tenuto-dev/tenuto/plugins/vpp/bfdplugin/model"
	classifymodel "github.com/tenuto-dev/tenuto/plugins/vpp/classifyplugin/model"
	cnatmodel "github.com/tenuto-dev/tenuto/plugins/vpp/cnatplugin/model"
	dnsmodel "github.com/tenuto-dev/tenuto/plugins/vpp/dnsplugin/model"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	ikev2model "github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin/model"
	ip6ndmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ip6ndplugin/model"
	ipfixmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ipfixplugin/model"
	ipsecmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	vppl3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	linuxcpmodel "github.com/tenuto-dev/tenuto/plugins/vpp/linuxcpplugin/model"
	lldpmodel "github.com/tenuto-dev/tenuto/plugins/vpp/lldpplugin/model"
	mplsmodel "github.com/tenuto-dev/tenuto/plugins/vpp/mplsplugin/model"
	mssmodel "github.com/tenuto-dev/tenuto/plugins/vpp/mssplugin/model"
	natmodel "github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	pmtumodel "github.com/tenuto-dev/tenuto/plugins/vpp/pmtuplugin/model"
	policermodel "github.com/tenuto-dev/tenuto/plugins/vpp/policerplugin/model"
	puntmodel "github.com/tenuto-dev/tenuto/plugins/vpp/puntplugin/model"
	qosmodel "github.com/tenuto-dev/tenuto/plugins/vpp/qosplugin/model"
	reassemblymodel "github.com/tenuto-dev/tenuto/plugins/vpp/reassemblyplugin/model"
	srmodel "github.com/tenuto-dev/tenuto/plugins/vpp/srplugin/model"
	stnmodel "github.com/tenuto-dev/tenuto/plugins/vpp/stnplugin/model"
	urpfmodel "github.com/tenuto-dev/tenuto/plugins/vpp/urpfplugin/model"
	wireguardmodel "github.com/tenuto-dev/tenuto/plugins/vpp/wireguardplugin/model"
)

// MustSet is Set for programs; it returns the same set every time.
func MustSet() *models.Set { return theSet() }

var theSet = sync.OnceValue(func() *models.Set {
	set, err := Set()
	if err != nil {
		panic(err) /* ok: a test of this package excludes it */
	}
	return set
})

// Set returns all configuration models. An error means that two of them
// conflict, which the tests of this package exclude.
func Set() (*models.Set, error) {
	return models.NewSet(append(append(packetPathModels(), ipsecModels()...),
		netallocmodel.IPAllocationModel,

		linuxifmodel.InterfaceModel,
		linuxl3model.ARPModel,
		linuxl3model.RouteModel,
		linuxl3model.RuleModel,
		linuxl3model.NexthopModel,
		iptablesmodel.RuleChainModel,
		nftablesmodel.TableModel,
		linuxpuntmodel.ProxyModel,

		vppifmodel.InterfaceModel,
		vppifmodel.SpanModel,
		l2model.BridgeDomainModel,
		l2model.FIBModel,
		l2model.XConnectModel,
		vppl3model.VrfTableModel,
		vppl3model.RouteModel,
		vppl3model.ARPModel,
		vppl3model.ProxyARPModel,
		vppl3model.IPScanNeighborModel,
		vppl3model.DHCPProxyModel,
		vppl3model.L3XConnectModel,
		vppl3model.TeibModel,
		vppl3model.VRRPModel,
		aclmodel.ACLModel,
		abfmodel.ABFModel,
		natmodel.GlobalModel,
		natmodel.DNATModel,
		natmodel.InterfaceModel,
		natmodel.PoolModel,
		natmodel.VrfTableModel,
		natmodel.VrfRouteModel,
		puntmodel.IPRedirectModel,
		puntmodel.ToHostModel,
		puntmodel.ExceptionModel,
		stnmodel.RuleModel,
		srmodel.GlobalModel,
		srmodel.LocalSIDModel,
		srmodel.PolicyModel,
		srmodel.SteeringModel,
		ipfixmodel.IPFIXModel,
		ipfixmodel.FlowProbeParamsModel,
		ipfixmodel.FlowProbeFeatureModel,
		dnsmodel.DNSCacheModel,
		bfdmodel.AuthKeyModel,
		bfdmodel.SessionModel,
		bfdmodel.EchoSourceModel,
		mplsmodel.TableModel,
		mplsmodel.InterfaceModel,
		mplsmodel.RouteModel,
		linuxcpmodel.GlobalModel,
		linuxcpmodel.PairModel,
	)...)
}

// ipsecModels are the models of tunnels that encrypt.
func ipsecModels() []models.Known {
	return []models.Known{
		ipsecmodel.SPDModel,
		ipsecmodel.SPModel,
		ipsecmodel.SAModel,
		ipsecmodel.TunnelProtectionModel,
		wireguardmodel.PeerModel,
		ikev2model.GlobalModel,
		ikev2model.ProfileModel,
	}
}

// packetPathModels are the models of what treats packets on their way.
func packetPathModels() []models.Known {
	return []models.Known{
		policermodel.PolicerModel,
		policermodel.InterfaceModel,
		qosmodel.MapModel,
		qosmodel.RecordModel,
		qosmodel.StoreModel,
		qosmodel.MarkModel,
		urpfmodel.InterfaceModel,
		mssmodel.ClampModel,
		reassemblymodel.SettingsModel,
		reassemblymodel.InterfaceModel,
		pmtumodel.PathMTUModel,
		natmodel.NAT64GlobalModel,
		natmodel.NAT64InterfaceModel,
		natmodel.NAT64PoolModel,
		natmodel.NAT64StaticBIBModel,
		natmodel.NAT64PrefixModel,
		natmodel.NAT66GlobalModel,
		natmodel.NAT66InterfaceModel,
		natmodel.NAT66MappingModel,
		ip6ndmodel.RouterAdvertisementModel,
		classifymodel.TableModel,
		classifymodel.SessionModel,
		classifymodel.BindingModel,
		cnatmodel.GlobalModel,
		cnatmodel.InterfaceModel,
		cnatmodel.TranslationModel,
		lldpmodel.GlobalModel,
		lldpmodel.InterfaceModel,
	}
}
