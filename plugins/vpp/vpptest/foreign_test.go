package vpptest_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/abf"
	aclapi "go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/arp"
	"go.fd.io/govpp/binapi/fib_types"
	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/l2"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	"go.fd.io/govpp/binapi/nat_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	ifs "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// What is not the agent's stays: each interface that an item of the catalogue names loses its tag,
// as if another client had made both. An agent that configures nothing, and one that configures the
// item and everything else that it needs, change nothing about the interface. What VPP lists of
// the item is no value without a name. If the item, or something else that it names, has a name,
// then orphans and drift report the interface. unseen are the other items.
func TestUntaggedInterfaces(t *testing.T) {
	for _, i := range items(t) {
		if i.Without["Retrieve"] != "" {
			continue
		}
		for _, name := range interfacesNeeded(i) {
			t.Run(i.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				withoutTag(t, i, name)
			})
		}
	}
}

func interfacesNeeded(i catalogue.Item) (names []string) {
	for _, m := range i.Needed() {
		if v, ok := m.(*ifs.Interface); ok {
			names = append(names, v.GetName())
		}
	}
	return names
}

// unseen are items, by a regular expression, that name nothing with a name but the interface. VPP
// keeps no names of classifier tables.
var unseen = regexp.MustCompile(`^vpp\.(arp|bfd\.session|classify\.binding|ip6nd\.ra|ipfix\.flowprobe-feature|ipsec\.tun-protect|l3xconnect/l3in|linuxcp\.pair|` +
	`mpls\.interface|mss\.clamp|nat\.nat44-interface|nat6[46]\.interface|qos\..*|stn\.rule|svs\.interface|teib|urpf\.interface|vrrp.*|wg\.peer)(/.*)?$`)

func withoutTag(t *testing.T, i catalogue.Item, name string) {
	l := newLife(t, i, vpptest.Simulator(t, simOptions()))
	l.b.Must(l.needed)
	l.b.Must(l.item)
	l.configured()
	index := interface_types.InterfaceIndex(indexOf(l.b, name))
	l.b.Stop() // it would end what uses the interface
	l.start()
	byHand(t, l.b, &interfacesapi.SwInterfaceTagAddDel{SwIfIndex: index}, &interfacesapi.SwInterfaceTagAddDelReply{})
	before := strings.Split(l.target.Sim.Dump(), "\n")
	unchanged := func(when string) {
		t.Helper()
		after := map[string]bool{}
		for line := range strings.SplitSeq(l.target.Sim.Dump(), "\n") {
			after[line] = true
		}
		for _, line := range before {
			if !after[line] {
				t.Errorf("%s: VPP lost %q", when, line)
			}
		}
	}
	l.b.FullResync(values{})
	if err := l.b.Scheduler.ReadOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	unchanged("an agent without a configuration")
	text := regexp.MustCompile(fmt.Sprintf(`\b%d( \([^)]*\))?, which has no tag`, index))
	reported := slices.ContainsFunc(l.b.Scheduler.Orphans(), func(o kvs.Orphan) bool {
		return text.MatchString(strings.Join(kvs.Unmodeled(o.Value.Message), ", "))
	})
	if reported == unseen.MatchString(i.Name+"/"+name) {
		t.Errorf("reported: %t", reported)
	}
	for _, d := range l.b.Scheduler.ListDescriptors() {
		if d.Name != l.descriptor() || d.Validate == nil {
			continue
		}
		for key, v := range l.b.Dump(d.Name) {
			if err := d.Validate(key, v); err != nil && len(kvs.Unmodeled(v)) == 0 && key != ifKey("local0") {
				t.Errorf("%s is read as %v, which cannot be configured: %v", key, v, err)
			}
		}
	}
	all := l.all()
	delete(all, ifKey(name))
	_ = commitAll(t, l.b, all)
	if i.Model() != "vpp.nat.dnat44" { // the other mappings of the group wait for the interface
		unchanged("an agent with the item")
	}
	l.b.Stop()
}

// addition is what another client adds to an item of the agent, over an interface without a tag, or
// makes beside it.
type addition struct {
	items values
	// request adds or removes it; on is the interface without a tag.
	request func(t *testing.T, b *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message)
	to      string // the key of the item that it is added to; "": none
	says    string
}

func additions() map[string]addition {
	untagged := "which has no tag"
	route := func(to, gw string, source uint8, over bool) func(*testing.T, *vpptest.Harness, interface_types.InterfaceIndex, bool) (req, reply api.Message) {
		return func(_ *testing.T, b *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
			path := fib_types.FibPath{SwIfIndex: indexOf(b, "x"), Weight: 1}
			if over {
				path.SwIfIndex = uint32(on)
			}
			path.Nh.Address = address(gw).Un
			prefix, _ := ip_types.ParsePrefix(to)
			return &ip.IPRouteAddDelV2{IsAdd: add, IsMultipath: true, Route: ip.IPRouteV2{
				Prefix: prefix, NPaths: 1, Src: source, Paths: []fib_types.FibPath{path},
			}}, &ip.IPRouteAddDelV2Reply{}
		}
	}
	own := &l3.Route{DstNetwork: "10.20.0.0/16", NextHopAddr: "10.0.0.9", OutgoingInterface: "x"}
	list := received("list", 0, "x")
	policy := steers(1, "list", "x", "10.9.0.2", attachedTo("x", 0, false))
	mapping := func(tag string) func(*testing.T, *vpptest.Harness, interface_types.InterfaceIndex, bool) (req, reply api.Message) {
		return func(_ *testing.T, _ *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
			m := &ed.Nat44AddDelStaticMappingV2{
				IsAdd: add, Flags: nat_types.NAT_IS_OUT2IN_ONLY, LocalIPAddress: ip_types.IP4Address{10, 0, 0, 5}, Protocol: 6, LocalPort: 80, ExternalPort: 8080,
				ExternalIPAddress: ip_types.IP4Address{192, 0, 2, 1}, ExternalSwIfIndex: noMappingInterface(), Tag: tag,
			}
			if tag != "" {
				m.ExternalSwIfIndex, m.ExternalIPAddress = on, ip_types.IP4Address{}
			}
			return m, &ed.Nat44AddDelStaticMappingV2Reply{}
		}
	}
	return map[string]addition{
		"route of the command line":   {items: of(own), request: route("10.21.0.0/16", "10.0.0.8", 9, false), says: "source CLI"},
		"path over an interface":      {items: of(own), request: route("10.20.0.0/16", "10.0.0.8", 0, true), says: untagged},
		"NAT44 mapping without a tag": {items: of(&nat.Nat44Global{}, dnat("web", "192.0.2.1", 80, "10.0.0.1")), request: mapping(""), says: "mapping of 192.0.2.1 port 8080 protocol 6, which has no tag"},
		"NAT44 mapping on an interface": {items: of(&nat.Nat44Global{}, dnat("web", "192.0.2.1", 80, "10.0.0.1")), request: mapping("web"),
			to: key(&nat.DNat44{Label: "web"}), says: untagged},
		"member of a bridge domain": {items: of(bridge("bd", "x")), to: key(bridge("bd")), says: untagged,
			request: func(t *testing.T, b *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
				id := dumped[*l2.BridgeDomainDetails](t, b, &l2.BridgeDomainDump{BdID: vppNone, SwIfIndex: interface_types.InterfaceIndex(vppNone)})[0].BdID
				return &l2.SwInterfaceSetL2Bridge{RxSwIfIndex: on, BdID: id, Enable: add}, &l2.SwInterfaceSetL2BridgeReply{}
			}},
		"access list on an interface": {items: of(list), to: key(list), says: untagged,
			request: func(t *testing.T, b *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
				return &aclapi.ACLInterfaceAddDel{IsAdd: add, IsInput: true, SwIfIndex: on}, &aclapi.ACLInterfaceAddDelReply{}
			}},
		"policy on an interface": {items: of(list, policy), to: key(policy), says: untagged,
			request: func(_ *testing.T, _ *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
				return &abf.AbfItfAttachAddDel{IsAdd: add, Attach: abf.AbfItfAttach{PolicyID: 1, SwIfIndex: on}}, &abf.AbfItfAttachAddDelReply{}
			}},
		"policy database on an interface": {items: of(catalogue.IpsecSPD(1, "x")), to: key(catalogue.IpsecSPD(1)), says: untagged,
			request: func(_ *testing.T, _ *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
				return &ipsecapi.IpsecInterfaceAddDelSpd{IsAdd: add, SwIfIndex: on, SpdID: 1}, &ipsecapi.IpsecInterfaceAddDelSpdReply{}
			}},
		"sub-interface": {items: values{}, to: ifKey("x"), says: untagged,
			request: func(t *testing.T, b *vpptest.Harness, _ interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
				on := interface_types.InterfaceIndex(indexOf(b, "x"))
				if add {
					return &interfacesapi.CreateVlanSubif{SwIfIndex: on, VlanID: 100}, &interfacesapi.CreateVlanSubifReply{}
				}
				for _, d := range dumped[*interfacesapi.SwInterfaceDetails](t, b, &interfacesapi.SwInterfaceDump{SwIfIndex: interface_types.InterfaceIndex(vppNone)}) {
					if d.SupSwIfIndex == uint32(on) && d.SwIfIndex != on {
						on = d.SwIfIndex
					}
				}
				return &interfacesapi.DeleteSubif{SwIfIndex: on}, &interfacesapi.DeleteSubifReply{}
			}},
		"proxy ARP on an interface": {items: of(&l3.ProxyARP{Interfaces: []*l3.ProxyARP_Interface{{Name: "x"}}}), to: key(&l3.ProxyARP{}), says: untagged,
			request: func(_ *testing.T, _ *vpptest.Harness, on interface_types.InterfaceIndex, add bool) (req, reply api.Message) {
				return &arp.ProxyArpIntfcEnableDisable{SwIfIndex: on, Enable: add}, &arp.ProxyArpIntfcEnableDisableReply{}
			}},
	}
}

// What another client adds to an item of the agent is reported by drift and orphans. The item stays
// as it is: nothing is changed, repaired or removed, not by another agent either.
func TestForeignAdditions(t *testing.T) {
	for name, c := range additions() {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				b := vpptest.Start(t, target)
				all := of(loop("x", "10.0.0.1/24"))
				maps.Copy(all, c.items)
				b.Must(all)
				allConfigured(t, b, all)
				untagged := &interfacesapi.CreateLoopbackReply{}
				byHand(t, b, &interfacesapi.CreateLoopback{}, untagged)
				byHand(t, b, &interfacesapi.SwInterfaceSetFlags{SwIfIndex: untagged.SwIfIndex, Flags: interface_types.IF_STATUS_API_FLAG_ADMIN_UP}, &interfacesapi.SwInterfaceSetFlagsReply{})
				req, reply := c.request(t, b, untagged.SwIfIndex, true)
				byHand(t, b, req, reply)
				b.InSync()
				added(t, b, c)
				b.Stop()
				b = vpptest.Start(t, target)
				if ops := b.FullResync(all); len(ops) > 0 {
					t.Errorf("another agent had to %q", ops)
				}
				added(t, b, c)
				allConfigured(t, b, all)
				req, reply = c.request(t, b, untagged.SwIfIndex, false)
				byHand(t, b, req, reply)
				if report, err := b.Scheduler.DetectDrift(t.Context()); err != nil || len(report.Drifts) > 0 {
					t.Errorf("removed: %v, %+v", err, report)
				}
				byHand(t, b, &interfacesapi.DeleteLoopback{SwIfIndex: untagged.SwIfIndex}, &interfacesapi.DeleteLoopbackReply{})
				b.Must(deleted(all))
				b.Stop()
			})
		})
	}
}

func added(t *testing.T, b *vpptest.Harness, c addition) {
	t.Helper()
	if err := b.Scheduler.ReadOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	says := func(o kvs.Orphan) bool {
		return !o.Ours && !o.Marked && strings.Contains(strings.Join(kvs.Unmodeled(o.Value.Message), ", "), c.says)
	}
	if !slices.ContainsFunc(b.Scheduler.Orphans(), says) {
		t.Errorf("no orphan says %q: %+v", c.says, b.Scheduler.Orphans())
	}
	report, err := b.Scheduler.DetectDrift(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.to == "" {
		if len(report.Drifts) > 0 {
			t.Errorf("drifts %+v", report.Drifts)
		}
		return
	}
	if len(report.Drifts) != 1 || report.Drifts[0].Key != c.to || !report.Drifts[0].Foreign() || !strings.Contains(report.Drifts[0].Fields[0].Found, c.says) {
		t.Errorf("drifts %+v, expected a foreign one of %s that says %q", report.Drifts, c.to, c.says)
	}
	if seq, err := b.Scheduler.RepairDrift(t.Context(), report.Drifts); err != nil || seq != kvs.NoSeqNum {
		t.Errorf("repaired by transaction %d: %v", seq, err)
	}
}

// A change that creates an interface again deletes the sub-interfaces that others made on it. The plan
// names them.
func TestPlanNamesForeignSubInterfaces(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		own := catalogue.Memif("m", 7, "m.sock")
		b.Must(of(own))
		b.Await(ifKey("m"), configured)
		made := &interfacesapi.CreateVlanSubifReply{}
		byHand(t, b, &interfacesapi.CreateVlanSubif{SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "m")), VlanID: 100}, made)
		says := fmt.Sprintf("other processes have parts in it, which are deleted with it or prevent its deletion: %s/foreign:sub-interface %d (%s)", ifKey("m"), made.SwIfIndex, internalName(t, b, made.SwIfIndex))
		if got := planReason(t, b, of(catalogue.Memif("m", 8, "m.sock")), ifKey("m")); got != says {
			t.Errorf("created again: %q, expected %q", got, says)
		}
		if got := planReason(t, b, values{ifKey("m"): nil}, ifKey("m")); got != says {
			t.Errorf("deleted: %q, expected %q", got, says)
		}
		up := catalogue.Memif("m", 7, "m.sock")
		up.Mtu = 1400
		if got := planReason(t, b, of(up), ifKey("m")); got != "" {
			t.Errorf("changed in place: %q", got)
		}
		b.Must(values{ifKey("m"): nil})
	})
}

// internalName returns the name that VPP gave to an interface.
func internalName(t *testing.T, b *vpptest.Harness, index interface_types.InterfaceIndex) string {
	t.Helper()
	for _, d := range b.AllInterfaces() {
		if d.SwIfIndex == index {
			return d.InterfaceName
		}
	}
	t.Fatalf("there is no interface %d", index)
	return ""
}
