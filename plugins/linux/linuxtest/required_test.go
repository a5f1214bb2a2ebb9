package linuxtest_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
	netalloc "github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// The schema declares the required fields of all items of the catalogue, at every depth.
func TestRequiredFields(t *testing.T) {
	t.Parallel()
	a := linuxtest.Start(t, nltest.Sim())
	all := append(catalogue(t, "catalogue.json"), catalogue(t, "changes.json")...)
	all = append(all,
		&interfaces.Interface{Name: "x", Type: interfaces.Interface_DUMMY, IpAddresses: []string{"fd00::1/64"},
			AddressLifetimes: []*interfaces.AddressLifetime{{Address: "fd00::1/64", Valid: 60}}},
		&interfaces.Interface{Name: "t", Type: interfaces.Interface_TAP_TO_VPP, Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{VppTapIfName: "tap"}}},
		&l3.Nexthop{Name: "nh", Id: 7, OutgoingInterface: "x", GwAddr: "10.9.0.1"},
		&l3.Nexthop{Name: "group", Id: 8, Members: []*l3.Nexthop_Member{{Nexthop: "nh", Weight: 2}}},
		&punt.Proxy{Name: "p", Rx: &punt.Proxy_RxSocket{RxSocket: &punt.SocketBased{Path: "/run/a.sock"}},
			Tx: &punt.Proxy_TxSocket{TxSocket: &punt.SocketBased{Path: "/run/b.sock"}}},
		&netalloc.IPAllocation{NetworkName: "net", InterfaceName: "x", Address: "10.0.0.1/24", Gw: "10.0.0.254"})
	samples := make([]kvstest.Sample, 0, len(all))
	for _, v := range all {
		samples = append(samples, kvstest.Sample{Key: linuxtest.Key(t, v), Value: v})
	}
	kvstest.CheckRequired(t, samples, a.Scheduler.ListDescriptors()...)
}
