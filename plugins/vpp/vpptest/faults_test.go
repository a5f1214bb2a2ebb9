package vpptest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/memclnt"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// network is one value of every item that works on any VPP.
func network() values {
	inVrf := loop("in7", "10.7.0.1/24")
	inVrf.Vrf = 7
	borrower := loop("borrower")
	borrower.Unnumbered = unnumbered("lo")
	bd := bridge("bd1", "bvi", "port")
	bd.Interfaces[0].BridgedVirtualInterface = true
	return of(
		loop("lo", "10.1.1.1/24", "2001:db8::1/64"), loop("bvi", "10.2.1.1/24"), loop("port"), loop("x1"), loop("x2"),
		inVrf, borrower, bd,
		&l3.VrfTable{Id: 7, FlowHashSettings: &l3.VrfTable_FlowHashSettings{UseSrcIp: true}},
		&l2.FIBEntry{PhysAddress: "62:89:c6:a3:6d:5c", BridgeDomain: "bd1", OutgoingInterface: "port", StaticConfig: true},
		&l2.FIBEntry{PhysAddress: "62:89:c6:a3:6d:5d", BridgeDomain: "bd1", Action: l2.FIBEntry_DROP},
		&l2.XConnectPair{ReceiveInterface: "x1", TransmitInterface: "x2"},
		&l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "lo"},
		&l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.3", OutgoingInterface: "lo"},
		&l3.Route{DstNetwork: "10.8.0.0/16", VrfId: 7, Type: l3.Route_INTER_VRF},
		&l3.ARPEntry{Interface: "lo", IpAddress: "10.1.1.2", PhysAddress: "02:00:00:00:00:0a", Static: true},
		&l3.ProxyARP{
			Interfaces: []*l3.ProxyARP_Interface{{Name: "lo"}},
			Ranges:     []*l3.ProxyARP_Range{{FirstIpAddr: "10.1.1.50", LastIpAddr: "10.1.1.60"}},
		},
		&l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_BOTH, ScanInterval: 1, StaleThreshold: 4},
		&l3.L3XConnect{Interface: "bvi", Paths: []*l3.L3XConnect_Path{{OutgoingInterface: "lo", NextHopAddr: "10.1.1.7"}}},
		&l3.DHCPProxy{SourceIpAddress: "10.7.0.1", RxVrfId: 7, Servers: []*l3.DHCPProxy_DHCPServer{{IpAddress: "10.1.1.8"}}},
		&l3.TeibEntry{Interface: "lo", PeerAddr: "10.1.1.70", NextHopAddr: "192.0.2.1"},
		&l3.VRRPEntry{
			Interface: "lo", VrId: 5, Priority: 100, Interval: 1000, Preempt: true, IpAddresses: []string{"10.1.1.100"}, Enabled: true,
		},
	)
}

func allConfigured(t *testing.T, b *vpptest.Harness, vs values) {
	t.Helper()
	for key := range vs {
		status := b.Scheduler.GetValueStatus(key)
		for _, v := range append(status.GetDerivedValues(), status.GetValue()) {
			if v.GetState() != configured {
				t.Errorf("%s is %s: %s %v", v.GetKey(), v.GetState(), v.GetError(), v.GetDetails())
			}
		}
	}
}

// VPP crashes and returns with nothing.
func TestRestartOfVPP(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(network())
		allConfigured(t, b, network())
		epoch := b.Mux.Session().Epoch
		target.Restart(t)
		b.Connected(epoch)
		allConfigured(t, b, network())
		b.InSync()
		b.Must(deleted(network()))
		readBack(t, b, "vpp-interface", nil)
	})
}

// The agent ends and another one begins, with VPP as it is: nothing is deleted
// or created again, and what is no longer wanted goes.
func TestRestartOfAgent(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		first := vpptest.Start(t, target)
		first.Must(network(), kvs.WithResync(kvs.FullResync, false))
		allConfigured(t, first, network())
		first.Stop()

		second := vpptest.Start(t, target)
		ops := second.FullResync(network())
		for _, op := range ops {
			// The flow hash cannot be read back.
			if op != "update config/vpp/v2/vrf-table/id/7/protocol/IPV4" {
				t.Errorf("the second agent had to %s", op)
			}
		}
		allConfigured(t, second, network())
		second.InSync()

		rest := network()
		delete(rest, ifKey("x2"))
		delete(rest, bdKey("bd1"))
		second.FullResync(rest)
		if got := second.Dump("vpp-interface"); got[ifKey("x2")] != nil || len(second.Dump("vpp-bridge-domain")) != 0 {
			t.Errorf("left over: %v", got)
		}
		second.InSync()
	})
}

// While VPP is not there, values wait and say for what.
func TestVPPIsDown(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	b.Must(network())
	epoch := b.Mux.Session().Epoch
	if err := target.Sim.Die(); err != nil {
		t.Fatal(err)
	}
	b.Await(ifKey("lo"), pending)
	if s := b.Scheduler.GetValueStatus(ifKey("lo")).GetValue(); !strings.HasPrefix(kvs.Reason(s), "waits for vpp: disconnected") || strings.Count(kvs.Reason(s), "disconnected") > 1 {
		t.Errorf("status: %v", s)
	}
	more := of(loop("while-down"))
	b.Must(more)
	b.Want(states{ifKey("while-down"): pending})
	if err := target.Sim.Restart(); err != nil {
		t.Fatal(err)
	}
	b.Connected(epoch)
	allConfigured(t, b, network())
	allConfigured(t, b, more)
	b.InSync()
}

// A VPP without any variant of a message: that value alone is UNIMPLEMENTED, and
// says what is missing; another VPP may have it.
func TestUnsupportedOperation(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	forget(t, target, "tap_create_v3", "tap_create_v2")
	b := vpptest.Start(t, target)
	err := b.Commit(of(tap("tap1"), loop("lo")), kvs.WithRetryDefault())
	if err == nil || !strings.Contains(err.Error(), "interface TAP (plugin tap of VPP): not supported by the connected VPP") ||
		!strings.Contains(err.Error(), "tap_create_v3_") {
		t.Errorf("error %v", err)
	}
	b.Want(states{ifKey("tap1"): impossible, ifKey("lo"): configured})
	if why := b.Scheduler.GetValueStatus(ifKey("tap1")).GetValue().GetError(); !strings.Contains(why, "tap_create_v3_") {
		t.Errorf("the status says %q", why)
	}
	target.Sim.Heal()
	epoch := b.Mux.Session().Epoch
	target.Restart(t)
	b.Connected(epoch)
	b.Await(ifKey("tap1"), configured)
	b.Want(states{ifKey("lo"): configured})
}

func TestOlderVariants(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	forget(t, target, "tap_create_v3", "af_packet_create_v3", "bridge_domain_add_del_v2", "ip_table_add_del_v2")
	everyItem(t, target)
}

// everyItem configures the exemplars of the catalogue together, on the simulator.
func everyItem(t *testing.T, target vpptest.Target) {
	t.Helper()
	b := vpptest.Start(t, target)
	all := values{}
	for _, i := range catalogue.All() {
		for key, v := range values(catalogue.Values(i.Make())) {
			if other, taken := all[key]; taken && !proto.Equal(other, v) {
				t.Errorf("%s: another item has %s", i.Name, key)
			}
			all[key] = v
		}
		for key, v := range i.Needed() {
			if other, taken := all[key]; taken && !proto.Equal(other, v) {
				t.Errorf("%s: another item needs another %s", i.Name, key)
			}
			all[key] = v
		}
	}
	for _, name := range catalogue.HostInterfaces() {
		b.SetHostInterface(name, true)
	}
	b.Must(all)
	awaitConfigured(b, all)
	b.InSync()
	b.Must(deleted(all))
	readBack(t, b, "vpp-interface", nil)
}

func TestEveryItem(t *testing.T) {
	t.Parallel()
	everyItem(t, vpptest.Simulator(t, simOptions()))
}

// VPP refuses: the error names the message and what VPP said, nothing half-made
// is left, and a retry mends it.
func TestRefusal(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	if err := target.Sim.Fail("sw_interface_tag_add_del", api.VPPApiError(-1), 1); err != nil {
		t.Fatal(err)
	}
	err := b.Commit(of(loop("lo")))
	if err == nil || !strings.Contains(err.Error(), "sw_interface_tag_add_del") || !strings.Contains(err.Error(), "Unspecified") {
		t.Errorf("error %v", err)
	}
	if target.Sim.Count("delete_loopback") != 1 {
		t.Error("the loopback without tag was left behind")
	}
	b.Must(of(loop("lo")))
	b.InSync()
}

// The reply is lost although VPP did what it was asked: no interface is made
// twice.
func TestLostReply(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	if err := target.Sim.FailAfter("tap_create_v3", api.VPPApiError(-1), 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(of(tap("tap1"))); err == nil {
		t.Error("no error")
	}
	b.Resync()
	b.Want(states{ifKey("tap1"): configured})
	readBackNames(t, b, "tap1")
	b.InSync()
}

func readBackNames(t *testing.T, b *vpptest.Harness, names ...string) {
	t.Helper()
	got := b.Dump("vpp-interface")
	delete(got, ifKey("local0"))
	for _, name := range names {
		if _, ok := got[ifKey(name)]; !ok {
			t.Errorf("%s does not exist", name)
		}
		delete(got, ifKey(name))
	}
	for key := range got {
		t.Errorf("%s exists", key)
	}
}

// VPP does what it is asked, but the reply never comes. Once VPP answers again,
// everything exists exactly once.
func TestNoReply(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target, vpptest.ReplyTimeout(time.Second))
	b.SetHostInterface("eth0", true)
	for _, name := range []string{"create_loopback", "tap_create_v3", "af_packet_create_v3", "ip_route_add_del",
		newest(t, target, "bridge_domain_add_del_v2", "bridge_domain_add_del")} {
		if err := target.Sim.Mute(name, 1); err != nil {
			t.Fatal(err)
		}
	}
	all := of(loop("lo"), tap("tap1"), afPacket("af", "eth0"), bridge("bd1", "lo"),
		&l3.Route{DstNetwork: "10.0.0.0/8", Type: l3.Route_DROP})
	if err := b.Commit(all, kvs.WithRetry(kvs.RetryOpts{Period: 10 * time.Millisecond})); err == nil {
		t.Error("no error")
	}
	for key := range all {
		b.Await(key, configured) // a lost reply costs a session unless VPP answers later requests
	}
	b.InSync()
	names := map[string]int{}
	for _, d := range b.AllInterfaces() {
		names[strings.TrimRight(d.InterfaceName, "0123456789")]++
	}
	if names["loop"] != 1 || names["tap"] != 1 || names["host-eth"] != 1 {
		t.Errorf("interfaces %v", names)
	}
	if text := b.CLI("show bridge-domain"); strings.Count(text, "\n") > 3 {
		t.Errorf("bridge domains:\n%s", text)
	}
}

// VPP loses replies, and answers later requests: the session continues, and a reading
// finds what the requests did. Nothing exists twice, and nothing without a tag.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target, vpptest.ReplyTimeout(200*time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	pings := make(chan error)
	go func() {
		var err error
		for err == nil {
			err = b.Mux.Conn().Invoke(ctx, &memclnt.ControlPing{}, &memclnt.ControlPingReply{})
		}
		pings <- err
	}()
	all := of(loop("lo", "10.0.0.1/24"), vxlan("vx", "192.0.2.1", "192.0.2.2", 1), ipsecInterface("ipsec"), memif("m", 1, "x.sock"))
	for _, variants := range [][]string{
		{"create_loopback"}, {"vxlan_add_del_tunnel_v3"}, {"ipsec_itf_create"}, {"memif_create_v2", "memif_create"},
		{"memif_socket_filename_add_del_v2", "memif_socket_filename_add_del"}, {"sw_interface_tag_add_del"},
		{"sw_interface_add_del_address"}, {"sw_interface_set_flags"},
	} {
		name := variants[0]
		err := target.Sim.Mute(name, 1)
		if err != nil && len(variants) > 1 { // an older release has the other one
			name = variants[1]
			err = target.Sim.Mute(name, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(all, kvs.WithRetry(kvs.RetryOpts{Period: 10 * time.Millisecond})); err == nil {
			t.Errorf("%s: no error", name)
		}
		for key := range all {
			b.Await(key, configured)
		}
		b.InSync()
		if got := b.AllInterfaces(); len(got) != 1+len(all) {
			t.Errorf("%s: interfaces %v", name, got)
		}
		b.Must(deleted(all))
		if got := b.AllInterfaces(); len(got) != 1 || strings.Contains(target.Sim.Dump(), "memif socket") {
			t.Errorf("%s: after the removal\n%s", name, target.Sim.Dump())
		}
	}
	if epoch := b.Mux.Session().Epoch; epoch != 1 {
		t.Errorf("session %d, expected the first", epoch)
	}
	cancel()
	if err := <-pings; !errors.Is(err, context.Canceled) {
		t.Errorf("pings ended with %v", err)
	}
}

// Only the socket fails: VPP keeps everything, and nothing is done to it.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	b.Must(network())
	before, state, epoch := target.Sim.Counts(), target.Sim.Dump(), b.Mux.Session().Epoch
	target.Sim.Disconnect()
	b.Connected(epoch)
	allConfigured(t, b, network())
	if now := target.Sim.Dump(); now != state {
		t.Errorf("the state of VPP was\n%s\nand is\n%s", state, now)
	}
	for name, n := range target.Sim.Counts() {
		reading := reads(name) || strings.Contains(name, "show_") || strings.HasPrefix(name, "sockclnt_")
		// The flow hash cannot be read back.
		if n != before[name] && !reading && name != "set_ip_flow_hash_v2" {
			t.Errorf("sent %d times %s after the reconnection", n-before[name], name)
		}
	}
}
