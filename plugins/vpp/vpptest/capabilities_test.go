package vpptest_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// needy are values that need a capability: what is committed, and the key of the
// value that cannot be without it.
func needy() map[string]struct {
	key    string
	values []proto.Message
} {
	type entry = struct {
		key    string
		values []proto.Message
	}
	link := func(i *interfaces.Interface, more ...proto.Message) entry {
		return entry{ifKey(i.Name), append(more, i)}
	}
	rewritten := subif("port.7", "port", 7)
	rewritten.GetSub().TagRwOption = interfaces.SubInterface_POP1
	dhcp, nd, queues := loop("x"), loop("x"), tap("x")
	dhcp.SetDhcpClient, nd.Ip6Nd = true, &interfaces.Interface_IP6ND{AddressAutoconfig: true}
	queues.RxModes = []*interfaces.Interface_RxMode{{DefaultMode: true, Mode: interfaces.Interface_RxMode_POLLING}}
	queues.RxPlacements = []*interfaces.Interface_RxPlacement{{MainThread: true}}
	borrower, inVrf := loop("borrower"), loop("x", "10.1.1.1/24")
	borrower.Unnumbered, inVrf.Vrf = unnumbered("x"), 7
	route := &l3.Route{DstNetwork: "10.9.0.0/16", Type: l3.Route_DROP}
	entries := map[string]entry{
		"interface: addresses":                 {"vpp/interface/x/address/static/10.1.1.1/24", []proto.Message{loop("x", "10.1.1.1/24")}},
		"interface: VRF":                       {"vpp/interface/x/vrf/7/ip-version/v4", []proto.Message{inVrf, &l3.VrfTable{Id: 7}}},
		"interface: unnumbered":                {"vpp/interface/unnumbered/borrower", []proto.Message{borrower, loop("x", "10.1.1.1/24")}},
		"interface: DHCP client":               {"vpp/interface/dhcp-client/x", []proto.Message{dhcp}},
		"interface: IPv6 ND":                   {"vpp/interface/ip6nd/x", []proto.Message{nd}},
		"interface: rx modes":                  {"vpp/interface/x/rx-modes", []proto.Message{queues}},
		"interface: rx placement":              {"vpp/interface/x/rx-placement/queue/0", []proto.Message{queues}},
		"SPAN":                                 {"", []proto.Message{&interfaces.Span{InterfaceFrom: "x", InterfaceTo: "to", Direction: interfaces.Span_RX}, loop("x"), loop("to")}},
		"interface SOFTWARE_LOOPBACK":          link(loop("x")),
		"interface SUB_INTERFACE":              link(subif("port.7", "port", 7), tap("port")),
		"interface SUB_INTERFACE: tag rewrite": link(rewritten, tap("port")),
		"interface MEMIF":                      link(memif("x", 1, "x.sock")),
		"interface TAP":                        link(tap("x")),
		"interface AF_PACKET":                  link(afPacket("x", "eth0")),
		"interface VXLAN_TUNNEL":               link(vxlan("x", "192.0.2.1", "192.0.2.2", 1)),
		"interface VXLAN_TUNNEL: GPE":          link(vxlanGpe("x", "192.0.2.1", "192.0.2.2", 1)),
		"interface IPSEC_TUNNEL":               link(ipsecInterface("x")),
		"interface VMXNET3_INTERFACE":          link(vmxnet3("vmxnet3-0/b/0/0")),
		"interface BOND_INTERFACE":             link(bond("x", 1)),
		"interface BOND_INTERFACE: members":    {"vpp/bond/x/interface/member/", []proto.Message{bond("x", 1, "member"), loop("member")}},
		"interface GRE_TUNNEL":                 link(gre("x", "192.0.2.1", "192.0.2.2", interfaces.GreLink_L3)),
		"interface GTPU_TUNNEL":                link(gtpu("x", "192.0.2.1", "192.0.2.2", 1)),
		"interface IPIP_TUNNEL":                link(ipip("x", "192.0.2.1", "192.0.2.2")),
		"interface WIREGUARD_TUNNEL":           link(wireguard("x")),
		"interface RDMA":                       link(rdma("x", "eth0")),
		"bridge domain":                        {bdKey("bd1"), []proto.Message{bridge("bd1")}},
		"bridge domain: interfaces":            {"vpp/bd/bd1/interface/x", []proto.Message{bridge("bd1", "x"), loop("x")}},
		"L2 FIB": {"", []proto.Message{
			&l2.FIBEntry{PhysAddress: "62:89:c6:a3:6d:5d", BridgeDomain: "bd1", Action: l2.FIBEntry_DROP}, bridge("bd1"),
		}},
		"L2 cross-connect": {"", []proto.Message{&l2.XConnectPair{ReceiveInterface: "x", TransmitInterface: "to"}, loop("x"), loop("to")}},
		"VRF table":        {"", []proto.Message{&l3.VrfTable{Id: 7}}},
		"route":            {routeKey(route), []proto.Message{route}},
	}
	for item, values := range map[string][]proto.Message{
		"ARP entry":        {&l3.ARPEntry{Interface: "x", IpAddress: "10.1.1.2", PhysAddress: "02:00:00:00:00:0a"}, loop("x", "10.1.1.1/24")},
		"proxy ARP":        {&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{arpRange("10.1.1.10", "10.1.1.20", 0)}}},
		"IP scan neighbor": {&l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_IPV4}},
		"L3 cross-connect": {xc("x", l3.L3XConnect_IPV4, xcPath("to", "10.1.1.2")), loop("x", "10.0.0.1/24"), loop("to", "10.1.1.1/24")},
		"DHCP proxy":       {&l3.DHCPProxy{SourceIpAddress: "10.7.0.1", Servers: []*l3.DHCPProxy_DHCPServer{{IpAddress: "10.1.1.8"}}}},
		"TEIB":             {&l3.TeibEntry{Interface: "x", PeerAddr: "10.1.1.70", NextHopAddr: "192.0.2.1"}, loop("x", "10.1.1.1/24")},
		"VRRP":             {&l3.VRRPEntry{Interface: "x", VrId: 5, Priority: 100, Interval: 1000, IpAddresses: []string{"10.1.1.100"}}, loop("x", "10.1.1.1/24")},
		"VRRP: unicast": {
			&l3.VRRPEntry{
				Interface: "x", VrId: 5, Priority: 100, Interval: 1000, IpAddresses: []string{"10.1.1.100"},
				Unicast: true, UnicastPeers: []string{"10.1.1.9"},
			}, loop("x", "10.1.1.1/24"),
		},
	} {
		entries[item] = entry{key(values[0]), values}
	}
	for _, i := range catalogue.All() {
		if _, listed := entries[i.Capability]; !listed {
			entries[i.Capability] = entry{i.Key(), append(i.Needs(), i.Make())}
		}
	}
	for item, e := range entries {
		if e.key == "" {
			e.key = key(e.values[0])
			entries[item] = e
		}
	}
	return entries
}

// Without its messages a type of item is UNIMPLEMENTED and names them, for every client;
// with them it is configured.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	all := vpptest.Start(t, vpptest.Simulator(t, simOptions())).Mux.Capabilities()
	entries := needy()
	for _, c := range all {
		if _, ok := entries[c.Item]; !ok {
			t.Errorf("%s: no value needs it", c.Item)
		}
	}
	if len(all) != len(entries) {
		t.Errorf("%d capabilities, %d values that need them", len(all), len(entries))
	}
	for _, c := range all {
		t.Run(strings.ReplaceAll(c.Item, " ", "_"), func(t *testing.T) {
			t.Parallel()
			e := entries[c.Item]
			target := vpptest.Simulator(t, simOptions())
			for _, msgs := range c.NeedsOneOf {
				forget(t, target, msgs[0].GetMessageName())
			}
			b := vpptest.Start(t, target)
			b.SetHostInterface("eth0", true)
			_ = b.Commit(of(e.values...))
			b.Await(e.key, impossible) // what waits for the link comes later
			why := b.Scheduler.GetValueStatus(e.key).GetValue().GetError()
			if name := binding.NameCRC(c.NeedsOneOf[0][0]); !strings.Contains(why, name) {
				t.Errorf("%s: error %q, expected %s", e.key, why, name)
			}
			for _, a := range abilities(t, b) {
				if a.Item == c.Item && (a.Uses != "" || len(a.Missing) != len(c.NeedsOneOf)) {
					t.Errorf("%s is said to be possible, with %q, without %v", a.Item, a.Uses, a.Missing)
				} else if a.Item != c.Item && a.Uses == "" {
					t.Errorf("%s is said to be impossible, because %v are missing", a.Item, a.Missing)
				}
			}

			// A VPP that has everything.
			target.Sim.Heal()
			epoch := b.Mux.Session().Epoch
			target.Restart(t)
			b.Connected(epoch)
			b.Await(e.key, configured)
		})
	}
}

// With strict-compat the agent connects to a VPP that has a usable variant of every
// operation, and refuses one that has not, by the names of the operations.
// TestEveryRelease repeats this for each release, whose simulator has all of them; a
// real VPP may lack a plugin.
func TestStrictCompat(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		all, err := b.Mux.Abilities()
		if err != nil {
			t.Fatal(err)
		}
		b.Stop()
		var lacks []string
		for _, a := range all {
			switch {
			case a.Uses != "":
			case a.Plugin == "" || target.Sim != nil:
				t.Errorf("%s: VPP has no message for it: %v", a.Item, a.Missing)
			default:
				lacks = append(lacks, a.Lack())
			}
		}
		conf := govppmux.DefaultConfig()
		conf.BinAPISocketPath, conf.StrictCompat, conf.ReplyTimeout = target.Socket, true, 2*time.Minute
		strict := govppmux.NewPlugin(govppmux.UseConf(conf))
		strict.Offer(b.Mux.Capabilities()...)
		agenttest.Start(t, strict)
		sessions := make(chan govppmux.Session, 16)
		defer strict.OnSession(func(s govppmux.Session) { sessions <- s })()
		s := <-sessions
		for !s.Up && !errors.Is(s.Err, binding.ErrUnsupported) { // not tried to connect yet
			s = <-sessions
		}
		if s.Up != (len(lacks) == 0) {
			t.Errorf("connected: %v, %v; VPP lacks %q", s.Up, s.Err, lacks)
		}
		for _, lack := range lacks {
			if !strings.Contains(s.Err.Error(), lack) {
				t.Errorf("the reason is %q, expected %q", s.Err, lack)
			}
		}
	})
}

// abilities are asked for as agentctl does.
func abilities(t *testing.T, b *vpptest.Harness) []binding.Ability {
	t.Helper()
	w := httptest.NewRecorder()
	b.Mux.ServeCapabilities(w, httptest.NewRequestWithContext(t.Context(), "GET", "/vpp/capabilities", nil))
	var answer struct{ Items []binding.Ability }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Items) == 0 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return answer.Items
}
