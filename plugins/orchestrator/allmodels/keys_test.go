package allmodels_test

import (
	"testing"

	linuxl3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	abfmodel "github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/model"
	aclmodel "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	ipsecmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	vppl3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	natmodel "github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// TestDerivedKeysAreCompatible shows the keys that no model has, as the
// predecessor writes them; keys of interfaces are tested with their package.
func TestDerivedKeysAreCompatible(t *testing.T) {
	t.Parallel()
	pool := &nat.Nat44AddressPool{FirstIp: "10.0.0.1", LastIp: "10.0.0.9"}
	for want, got := range map[string]string{
		"vpp/bd/bd1/interface/Gi0/8/0":                                l2model.BDInterfaceKey.Key("bd1", "Gi0/8/0"),
		"vpp/bd/bd1/interface/":                                       l2model.BDInterfaceKey.Prefix("bd1"),
		"vpp/proxyarp/interface/tap1":                                 vppl3model.ProxyARPInterfaceKey.Key("tap1"),
		"config/vpp/v2/vrf-table/id/2/protocol/IPV6":                  vppl3model.VrfTableKey(2, l3.VrfTable_IPV6),
		"vpp/acl/acl1/interface/ingress/tap1":                         aclmodel.InterfaceKey.Key("acl1", "ingress", "tap1"),
		"vpp/abf/7/interface/tap1":                                    abfmodel.InterfaceKey.Key("7", "tap1"),
		"vpp/abf/7/ipv6-interface/tap1":                               abfmodel.InterfaceIPv6Key.Key("7", "tap1"),
		"vpp/spd/1/interface/tap1":                                    ipsecmodel.SPDInterfaceKey.Key("1", "tap1"),
		"vpp/nat44/endpoint-dependent":                                natmodel.EndpointDependentKey,
		"vpp/nat44/interface/tap1/feature/in":                         natmodel.GlobalInterfaceKey.Key("tap1", "in"),
		"vpp/nat44/address/10.0.0.1/twice-nat/on":                     natmodel.GlobalAddressKey.Key("10.0.0.1", "on"),
		"vpp/nat44/twiceNAT-pool/vrf/0/addresses/10.0.0.1-10.0.0.9":   natmodel.TwiceNATPoolKey.Key("0", natmodel.PoolRange(pool)),
		"linux/link-local-route/veth1/dest-address/10.0.0.0/24":       linuxl3model.LinkLocalRouteKey.Key("veth1", "10.0.0.0/24"),
		"linux/link-local-route/veth1/dest-address/alloc:net1/if1/GW": linuxl3model.LinkLocalRouteKey.Key("veth1", "alloc:net1/if1/GW"),
		"linux/microservice/microservice1":                            nsmodel.MicroserviceKey.Key("microservice1"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
