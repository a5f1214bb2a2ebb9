package vpptest_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/walktest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *oneItem != "" && flag.Lookup("test.run").Value.String() == "" {
		if err := flag.Set("test.run", itemSuites); err != nil {
			panic(err) // the pattern is a constant
		}
	}
	goleak.VerifyTestMain(m)
}

var oneItem = flag.String("item", "", "test the items of the catalogue whose names begin with this alone, such as vpp.svs, with the suites for items")

// itemSuites are the tests of each item of the catalogue.
const itemSuites = "^Test(CatalogueIsComplete|Items|ItemsWithAllocatedAddresses|ItemFaults|ItemErrorsAfterEffect|Capabilities|Conflicts|PlansNameConflicts|" +
	"Refusals|ContractOfItems|DumpFields|AddressSpellings|UntaggedInterfaces)$"

// items returns the items that are tested.
func items(t *testing.T) []catalogue.Item {
	t.Helper()
	all := slices.DeleteFunc(catalogue.All(), func(i catalogue.Item) bool { return !strings.HasPrefix(i.Name, *oneItem) })
	if len(all) == 0 {
		t.Fatalf("-item %s: no name of an item begins with that; see catalogue.go", *oneItem)
	}
	return all
}

// The states that the cases look for.
const (
	configured = kvscheduler.ValueState_CONFIGURED
	pending    = kvscheduler.ValueState_PENDING
	missing    = kvscheduler.ValueState_MISSING
	invalid    = kvscheduler.ValueState_INVALID
	failed     = kvscheduler.ValueState_FAILED
	gone       = kvscheduler.ValueState_NONEXISTENT
	obtained   = kvscheduler.ValueState_OBTAINED
	impossible = kvscheduler.ValueState_UNIMPLEMENTED
)

type (
	values = map[string]proto.Message
	states = map[string]kvscheduler.ValueState
)

func ifKey(name string) string     { return ifmodel.InterfaceModel.KeyFor(name) }
func bdKey(name string) string     { return l2model.BridgeDomainModel.KeyFor(name) }
func fibKey(e *l2.FIBEntry) string { return l2model.FIBModel.Key(e) }
func routeKey(r *l3.Route) string  { return l3model.RouteModel.Key(r) }

// Short names for what the catalogue makes.
var (
	of, key = catalogue.Values, catalogue.Key

	loop, tap, afPacket, memif, subif, bond  = catalogue.Loopback, catalogue.Tap, catalogue.AfPacket, catalogue.Memif, catalogue.SubInterface, catalogue.Bond
	vxlan, vxlanGpe, gre, ipip, gtpu         = catalogue.Vxlan, catalogue.VxlanGpe, catalogue.Gre, catalogue.Ipip, catalogue.Gtpu
	ipsecInterface, wireguard, vmxnet3, rdma = catalogue.IpsecInterface, catalogue.Wireguard, catalogue.Vmxnet3, catalogue.Rdma
	unnumbered, bridge, xconnect             = catalogue.Unnumbered, catalogue.BridgeDomain, catalogue.XConnect
	arpRange, xc, xcPath, dhcpServer, router = catalogue.ARPRange, catalogue.L3XConnect, catalogue.L3XConnectPath, catalogue.DHCPServer, catalogue.Router
)

// deleted turns the values into their removal.
func deleted(vs values) values {
	out := values{}
	for key := range vs {
		out[key] = nil
	}
	return out
}

func simOptions() vppsim.Options { return vppsim.Options{} }

// text is a message on one line, always the same.
func text(m proto.Message) string { return walktest.Text(m) }

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
