package vpptest_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
func text(m proto.Message) string {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err.Error()
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		return err.Error()
	}
	return compact.String()
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
