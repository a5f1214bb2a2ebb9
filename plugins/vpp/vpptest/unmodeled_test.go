package vpptest_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"go.fd.io/govpp/binapi/abf"
	aclapi "go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/acl_types"
	"go.fd.io/govpp/binapi/fib_types"
	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipfix_export"
	ipipapi "go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/l2"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	"go.fd.io/govpp/binapi/span"
	vxlanapi "go.fd.io/govpp/binapi/vxlan"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	ifs "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// foreignCase is something that another client makes in VPP, with a setting that its model lacks.
type foreignCase struct {
	needs values
	// make makes it with a tag, and remove removes it.
	make, remove func(t *testing.T, b *vpptest.Harness)
	// item is what the model can say of it.
	item proto.Message
	// lacks is what it cannot.
	lacks string
}

func tagInterface(t *testing.T, b *vpptest.Harness, index interface_types.InterfaceIndex, tag string) {
	t.Helper()
	byHand(t, b, &interfacesapi.SwInterfaceTagAddDel{IsAdd: true, SwIfIndex: index, Tag: tag}, &interfacesapi.SwInterfaceTagAddDelReply{})
}

func address(text string) ip_types.Address {
	a, err := ipconv.ParseAddr(text)
	if err != nil {
		panic(err)
	}
	return ipconv.Address(a)
}

// indexOfTag returns the index of the interface with a tag.
func indexOfTag(b *vpptest.Harness, tag string) interface_types.InterfaceIndex {
	for _, i := range b.AllInterfaces() {
		if i.Tag == tag {
			return i.SwIfIndex
		}
	}
	return interface_types.InterfaceIndex(vppNone)
}

// subInterface is a sub-interface of p with the number 34 that does not get the frames of VLAN 34.
func subInterface(flags interface_types.SubIfFlags, outer, inner uint16, lacks string) foreignCase {
	return foreignCase{
		needs: of(loop("p")),
		make: func(t *testing.T, b *vpptest.Harness) {
			reply := &interfacesapi.CreateSubifReply{}
			byHand(t, b, &interfacesapi.CreateSubif{
				SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "p")), SubID: 34, SubIfFlags: flags, OuterVlanID: outer, InnerVlanID: inner,
			}, reply)
			tagInterface(t, b, reply.SwIfIndex, "x")
		},
		remove: func(t *testing.T, b *vpptest.Harness) {
			byHand(t, b, &interfacesapi.DeleteSubif{SwIfIndex: indexOfTag(b, "x")}, &interfacesapi.DeleteSubifReply{})
		},
		item: &ifs.Interface{
			Name: "x", Type: ifs.Interface_SUB_INTERFACE, Link: &ifs.Interface_Sub{Sub: &ifs.SubInterface{ParentName: "p", SubId: 34}},
		},
		lacks: lacks,
	}
}

func foreignVXLAN(change func(*vxlanapi.VxlanAddDelTunnelV3), lacks string) foreignCase {
	tunnel := vxlanapi.VxlanAddDelTunnelV3{
		IsAdd: true, Instance: math.MaxUint32, SrcAddress: address("192.0.2.1"), DstAddress: address("192.0.2.9"),
		McastSwIfIndex: math.MaxUint32, DecapNextIndex: math.MaxUint32, Vni: 9,
	}
	change(&tunnel)
	return foreignCase{
		make: func(t *testing.T, b *vpptest.Harness) {
			reply := &vxlanapi.VxlanAddDelTunnelV3Reply{}
			byHand(t, b, &tunnel, reply)
			tagInterface(t, b, reply.SwIfIndex, "x")
		},
		remove: func(t *testing.T, b *vpptest.Harness) {
			gone := tunnel
			gone.IsAdd = false
			byHand(t, b, &interfacesapi.SwInterfaceTagAddDel{SwIfIndex: indexOfTag(b, "x")}, &interfacesapi.SwInterfaceTagAddDelReply{})
			byHand(t, b, &gone, &vxlanapi.VxlanAddDelTunnelV3Reply{})
		},
		item: &ifs.Interface{Name: "x", Type: ifs.Interface_VXLAN_TUNNEL, Link: &ifs.Interface_Vxlan{Vxlan: &ifs.VxlanLink{
			SrcAddress: "192.0.2.1", DstAddress: "192.0.2.9", Vni: 9,
		}}},
		lacks: lacks,
	}
}

func foreignCases() map[string]foreignCase {
	const one, two, exact = interface_types.SUB_IF_API_FLAG_ONE_TAG, interface_types.SUB_IF_API_FLAG_TWO_TAGS, interface_types.SUB_IF_API_FLAG_EXACT_MATCH
	return map[string]foreignCase{
		"QinQ":          subInterface(two|exact, 34, 100, "sub_inner_vlan_id 100"),
		"another VLAN":  subInterface(one|exact, 500, 0, "sub_outer_vlan_id 500"),
		"802.1ad":       subInterface(one|exact|interface_types.SUB_IF_API_FLAG_DOT1AD, 34, 0, "sub_if_flags"),
		"default":       subInterface(interface_types.SUB_IF_API_FLAG_DEFAULT, 0, 0, "sub_if_flags"),
		"inner any":     subInterface(two|interface_types.SUB_IF_API_FLAG_INNER_VLAN_ID_ANY, 34, 0, "sub_if_flags"),
		"VXLAN port":    foreignVXLAN(func(v *vxlanapi.VxlanAddDelTunnelV3) { v.DstPort = 8472 }, "dst_port 8472"),
		"VXLAN source":  foreignVXLAN(func(v *vxlanapi.VxlanAddDelTunnelV3) { v.SrcPort = 8472 }, "src_port 8472"),
		"tag rewrite":   foreignRewrite(),
		"protocol MTU":  foreignMTU(),
		"IPIP flags":    foreignIPIP(),
		"bridge domain": foreignBridgeDomain(),
		"NAT mapping":   foreignMapping(),
	}
}

func foreignRewrite() foreignCase {
	c := foreignVXLAN(func(*vxlanapi.VxlanAddDelTunnelV3) {}, "vtr_tag1 7")
	made := c.make
	c.make = func(t *testing.T, b *vpptest.Harness) {
		made(t, b)
		byHand(t, b, &l2.L2InterfaceVlanTagRewrite{SwIfIndex: indexOfTag(b, "x"), VtrOp: 1, Tag1: 7}, &l2.L2InterfaceVlanTagRewriteReply{})
	}
	return c
}

func foreignMTU() foreignCase {
	c := foreignVXLAN(func(*vxlanapi.VxlanAddDelTunnelV3) {}, "mtu_ip4 1300")
	made := c.make
	c.make = func(t *testing.T, b *vpptest.Harness) {
		made(t, b)
		byHand(t, b, &interfacesapi.SwInterfaceSetMtu{SwIfIndex: indexOfTag(b, "x"), Mtu: []uint32{1400, 1300, 1300, 1200}}, &interfacesapi.SwInterfaceSetMtuReply{})
	}
	return c
}

func foreignIPIP() foreignCase {
	return foreignCase{
		make: func(t *testing.T, b *vpptest.Harness) {
			reply := &ipipapi.IpipAddTunnelReply{}
			byHand(t, b, &ipipapi.IpipAddTunnel{Tunnel: ipipapi.IpipTunnel{
				Instance: math.MaxUint32, Src: address("192.0.2.1"), Dst: address("192.0.2.9"), Flags: 0x03, Dscp: 10,
			}}, reply)
			tagInterface(t, b, reply.SwIfIndex, "x")
		},
		remove: func(t *testing.T, b *vpptest.Harness) {
			byHand(t, b, &ipipapi.IpipDelTunnel{SwIfIndex: indexOfTag(b, "x")}, &ipipapi.IpipDelTunnelReply{})
		},
		item: &ifs.Interface{Name: "x", Type: ifs.Interface_IPIP_TUNNEL, Link: &ifs.Interface_Ipip{Ipip: &ifs.IPIPLink{
			SrcAddr: "192.0.2.1", DstAddr: "192.0.2.9",
		}}},
		lacks: "dscp",
	}
}

func foreignBridgeDomain() foreignCase {
	return foreignCase{
		make: func(t *testing.T, b *vpptest.Harness) {
			bridgeByHand(t, b, &l2.BridgeDomainAddDelV2{BdID: 77, Flood: true, Forward: true, Learn: true, ArpUfwd: true, BdTag: "x", IsAdd: true})
		},
		remove: func(t *testing.T, b *vpptest.Harness) {
			bridgeByHand(t, b, &l2.BridgeDomainAddDelV2{BdID: 77})
		},
		item:  bridge("x"),
		lacks: "arp_ufwd true",
	}
}

// bridgeByHand uses the message that old releases have, if there is no other.
func bridgeByHand(t *testing.T, b *vpptest.Harness, v2 *l2.BridgeDomainAddDelV2) {
	t.Helper()
	if sim := b.Target.Sim; sim != nil && !slices.Contains(sim.Messages(), v2.GetMessageName()) {
		v1 := session.SameFields[l2.BridgeDomainAddDel](v2)
		byHand(t, b, &v1, &l2.BridgeDomainAddDelReply{})
		return
	}
	byHand(t, b, v2, &l2.BridgeDomainAddDelV2Reply{})
}

// noMappingInterface stands for no interface in a static mapping of NAT44.
func noMappingInterface() interface_types.InterfaceIndex {
	if *release == "22.10" {
		return 0
	}
	return math.MaxUint32
}

func foreignMapping() foreignCase {
	request := func(add bool) *ed.Nat44AddDelStaticMappingV2 {
		return &ed.Nat44AddDelStaticMappingV2{
			IsAdd: add, LocalIPAddress: ip_types.IP4Address{10, 0, 0, 5}, ExternalIPAddress: ip_types.IP4Address{203, 0, 113, 1},
			Protocol: 6, LocalPort: 80, ExternalPort: 8080, ExternalSwIfIndex: noMappingInterface(), Tag: "web",
		}
	}
	return foreignCase{
		needs: of(&nat.Nat44Global{EndpointIndependent: false}, &nat.Nat44AddressPool{FirstIp: "203.0.113.1"}),
		make: func(t *testing.T, b *vpptest.Harness) {
			byHand(t, b, request(true), &ed.Nat44AddDelStaticMappingV2Reply{})
		},
		remove: func(t *testing.T, b *vpptest.Harness) {
			byHand(t, b, request(false), &ed.Nat44AddDelStaticMappingV2Reply{})
		},
		item: &nat.DNat44{Label: "web", StMappings: []*nat.DNat44_StaticMapping{{
			ExternalIp: "203.0.113.1", ExternalPort: 8080, LocalIps: []*nat.DNat44_StaticMapping_LocalIP{{LocalIp: "10.0.0.5", LocalPort: 80}},
		}}},
		lacks: "both_ways true",
	}
}

// What another client made with a setting that the model lacks is reported with that, and is not
// taken over: not as an item that says the rest, not by a resync, not by another agent. When it is
// removed, the item is created. What the agent made is re-created if another client changes it so.
func TestForeignSettings(t *testing.T) {
	for name, c := range foreignCases() {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				b := vpptest.Start(t, target)
				b.Must(c.needs)
				c.make(t, b)
				want, key := of(c.item), key(c.item)
				refused := func(when string, err error) {
					t.Helper()
					if err == nil || !strings.Contains(err.Error(), c.lacks) || !strings.Contains(err.Error(), "left as it is") {
						t.Errorf("%s: %v, expected an error that says %q", when, err, c.lacks)
					}
					if got := inVPP(b, key); got == nil || !strings.Contains(strings.Join(kvs.Unmodeled(got), ", "), c.lacks) {
						t.Errorf("%s: read back %v with %q, expected %q", when, got, kvs.Unmodeled(got), c.lacks)
					}
				}
				b.Resync()
				if o := orphan(b, key); o == nil || o.Ours || !slices.ContainsFunc(kvs.Unmodeled(o.Value.Message), func(s string) bool { return strings.Contains(s, c.lacks) }) {
					t.Errorf("orphan %+v, expected a foreign one with %q", o, c.lacks)
				}
				refused("applied", b.Commit(want))
				b.Stop()
				b = vpptest.Start(t, target)
				all := of(c.item)
				for k, v := range c.needs {
					all[k] = v
				}
				refused("another agent", commitAll(t, b, all))
				c.remove(t, b)
				b.Resync()
				b.Want(states{key: configured})
				if got := inVPP(b, key); got == nil || len(kvs.Unmodeled(got)) > 0 {
					t.Errorf("created: read back %v with %q", got, kvs.Unmodeled(got))
				}
				b.InSync()
				b.Must(deleted(all))
				b.Stop()
			})
		})
	}
}

func commitAll(t *testing.T, b *vpptest.Harness, all values) error {
	t.Helper()
	txn := b.Scheduler.StartNBTransaction()
	for key, v := range all {
		txn.SetValue(key, v)
	}
	_, err := txn.Commit(t.Context(), kvs.WithResync(kvs.FullResync, false))
	return err
}

// inVPP returns what VPP has under a key.
func inVPP(b *vpptest.Harness, key string) proto.Message {
	for _, d := range b.Scheduler.ListDescriptors() {
		if d.NBKeyPrefix != "" && strings.HasPrefix(key, d.NBKeyPrefix) {
			return b.Dump(d.Name)[key]
		}
	}
	return nil
}

func orphan(b *vpptest.Harness, key string) *kvs.Orphan {
	for _, o := range b.Scheduler.Orphans() {
		if o.Key == key {
			return &o
		}
	}
	return nil
}

// A setting that another client changes on an item of the agent is a drift, and its repair
// re-creates the item.
func TestOwnWithForeignSettings(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		item := foreignVXLAN(func(*vxlanapi.VxlanAddDelTunnelV3) {}, "").item
		b.Must(of(item))
		byHand(t, b, &interfacesapi.SwInterfaceSetMtu{SwIfIndex: indexOfTag(b, "x"), Mtu: []uint32{1400, 1300, 0, 0}}, &interfacesapi.SwInterfaceSetMtuReply{})
		report, err := b.Scheduler.DetectDrift(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var fields []kvs.FieldDiff
		for _, d := range report.Drifts {
			fields = append(fields, d.Fields...)
		}
		if !slices.Contains(fields, kvs.FieldDiff{Field: kvs.UnmodeledField, Found: "mtu_ip4 1300"}) {
			t.Errorf("drifts in %v", fields)
		}
		if _, err := b.Scheduler.RepairDrift(t.Context(), report.Drifts); err != nil {
			t.Fatal(err)
		}
		if got := inVPP(b, ifKey("x")); len(kvs.Unmodeled(got)) > 0 {
			t.Errorf("after the repair: %q", kvs.Unmodeled(got))
		}
		b.InSync()
		b.Must(deleted(of(item)))
		b.Stop()
	})
}

// Lists that another client applied to an interface read back with orders that say in which order
// VPP looks at them. They are taken over as they are, and a restart of the agent changes nothing.
func TestOrderOfForeignACLs(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("x")))
		var lists []uint32
		for _, tag := range []string{"gre-only", "edge-in"} {
			reply := &aclapi.ACLAddReplaceReply{}
			byHand(t, b, &aclapi.ACLAddReplace{ACLIndex: math.MaxUint32, Tag: tag, R: []acl_types.ACLRule{{IsPermit: acl_types.ACL_ACTION_API_PERMIT, Proto: 47}}}, reply)
			lists = append(lists, reply.ACLIndex)
		}
		byHand(t, b, &aclapi.ACLInterfaceSetACLList{SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "x")), NInput: 2, Acls: lists}, &aclapi.ACLInterfaceSetACLListReply{})
		b.Resync()
		all := of(loop("x"))
		for key, v := range b.Dump("vpp-acl") {
			all[key] = v
		}
		order := func(name string) int32 { return all[key(&acl.ACL{Name: name})].(*acl.ACL).GetInterfaces().GetOrder() }
		if order("gre-only") >= order("edge-in") {
			t.Errorf("gre-only has order %d, edge-in %d", order("gre-only"), order("edge-in"))
		}
		same := func(when string) {
			t.Helper()
			for _, d := range dumped[*aclapi.ACLInterfaceListDetails](t, b, &aclapi.ACLInterfaceListDump{SwIfIndex: math.MaxUint32}) {
				if len(d.Acls) > 0 && !slices.Equal(d.Acls, lists) {
					t.Errorf("%s VPP looks at lists %v, expected %v", when, d.Acls, lists)
				}
			}
		}
		if ops := b.Change(all); len(ops) > 0 {
			t.Errorf("taken over with %q", ops)
		}
		same("taken over")
		b.InSync()
		b.Stop()
		b = vpptest.Start(t, target)
		if ops := b.FullResync(all); len(ops) > 0 {
			t.Errorf("another agent had to %q", ops)
		}
		same("restarted")
		b.Must(deleted(all))
		b.Stop()
	})
}

// What refers to something without a name has no made-up name for it, and is left as it is. What
// VPP's command line made is no agent's.
func TestNoMadeUpNames(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("x")))
		reply := &aclapi.ACLAddReplaceReply{}
		rules := []acl_types.ACLRule{{IsPermit: acl_types.ACL_ACTION_API_PERMIT}}
		byHand(t, b, &aclapi.ACLAddReplace{ACLIndex: math.MaxUint32, R: rules}, reply)
		path := fib_types.FibPath{SwIfIndex: math.MaxUint32, Weight: 1}
		path.Nh.Address = address("192.0.2.7").Un
		policy := abf.AbfPolicy{PolicyID: 1, ACLIndex: reply.ACLIndex, NPaths: 1, Paths: []fib_types.FibPath{path}}
		byHand(t, b, &abf.AbfPolicyAddDel{IsAdd: true, Policy: policy}, &abf.AbfPolicyAddDelReply{})
		cli := &aclapi.ACLAddReplaceReply{}
		byHand(t, b, &aclapi.ACLAddReplace{ACLIndex: math.MaxUint32, Tag: "cli", R: rules}, cli)
		b.Resync()
		for _, d := range []string{"vpp-abf", "vpp-acl"} {
			for key, v := range b.Dump(d) {
				if strings.Contains(text(v), "MISSING") {
					t.Errorf("%s is %v", key, v)
				}
			}
		}
		if o := orphan(b, key(&acl.ACL{Name: "cli"})); o == nil || o.Ours || o.Marked {
			t.Errorf("the list of the command line is %+v", o)
		}
		abfs := b.Dump("vpp-abf")
		for key := range abfs {
			if err := b.Commit(values{key: abfs[key]}); err == nil {
				t.Errorf("%s was taken over", key)
			}
		}
		if left := dumped[*abf.AbfPolicyDetails](t, b, &abf.AbfPolicyDump{}); len(left) != 1 || len(abfs) != 1 {
			t.Errorf("VPP has %v, read back %v", left, abfs)
		}
		b.Must(deleted(abfs))
		byHand(t, b, &abf.AbfPolicyAddDel{Policy: policy}, &abf.AbfPolicyAddDelReply{})
		byHand(t, b, &aclapi.ACLDel{ACLIndex: reply.ACLIndex}, &aclapi.ACLDelReply{})
		byHand(t, b, &aclapi.ACLDel{ACLIndex: cli.ACLIndex}, &aclapi.ACLDelReply{})
		b.Must(deleted(of(loop("x"))))
		b.Stop()
	})
}

// What names an interface with a tag and one without is no agent's, and orphans lists it at once,
// without a resync. So do other objects of other clients, and no longer when they are removed.
func TestOrphansAreRead(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("x"), loop("y")))
		untagged := &interfacesapi.CreateLoopbackReply{}
		byHand(t, b, &interfacesapi.CreateLoopback{}, untagged)
		x, y := interface_types.InterfaceIndex(indexOf(b, "x")), interface_types.InterfaceIndex(indexOf(b, "y"))
		mirror := func(state span.SpanState) {
			byHand(t, b, &span.SwInterfaceSpanEnableDisable{SwIfIndexFrom: x, SwIfIndexTo: untagged.SwIfIndex, State: state},
				&span.SwInterfaceSpanEnableDisableReply{})
		}
		connect := func(enable bool) {
			byHand(t, b, &l2.SwInterfaceSetL2Xconnect{RxSwIfIndex: y, TxSwIfIndex: untagged.SwIfIndex, Enable: enable}, &l2.SwInterfaceSetL2XconnectReply{})
		}
		list := &aclapi.ACLAddReplaceReply{}
		mirror(span.SPAN_STATE_API_RX)
		connect(true)
		byHand(t, b, &aclapi.ACLAddReplace{ACLIndex: math.MaxUint32, Tag: "made", R: []acl_types.ACLRule{{}}}, list)
		read := func() {
			t.Helper()
			if err := b.Scheduler.ReadOrphans(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		read()
		nameless := fmt.Sprintf("interface %d, which has no tag", untagged.SwIfIndex)
		mirrored := kvs.ForeignKey(key(&ifs.Span{InterfaceFrom: "x"}), fmt.Sprint("interface ", untagged.SwIfIndex))
		for _, key := range []string{mirrored, key(&pb.XConnectPair{ReceiveInterface: "y"})} {
			if o := orphan(b, key); o == nil || o.Ours || o.Marked || !slices.Contains(kvs.Unmodeled(o.Value.Message), nameless) {
				t.Errorf("%s is %+v, expected a foreign one with %q", key, o, nameless)
			}
		}
		if o := orphan(b, key(&acl.ACL{Name: "made"})); o == nil || !o.Marked {
			t.Errorf("the list is %+v, expected a marked one", o)
		}
		if b.InSync(); len(dumped[*span.SwInterfaceSpanDetails](t, b, &span.SwInterfaceSpanDump{})) != 1 {
			t.Error("the mirroring ended")
		}
		mirror(span.SPAN_STATE_API_DISABLED)
		connect(false)
		byHand(t, b, &aclapi.ACLDel{ACLIndex: list.ACLIndex}, &aclapi.ACLDelReply{})
		read()
		for _, o := range b.Scheduler.Orphans() {
			if strings.HasPrefix(o.Key, "config/vpp/v2/span") || strings.HasPrefix(o.Key, "config/vpp/acls") || strings.Contains(o.Key, "xconnect") {
				t.Errorf("%s is still listed", o.Key)
			}
		}
		byHand(t, b, &interfacesapi.DeleteLoopback{SwIfIndex: untagged.SwIfIndex}, &interfacesapi.DeleteLoopbackReply{})
		b.Must(deleted(of(loop("x"), loop("y"))))
		b.Stop()
	})
}

// An exporter without a VRF table is one in table 0, and is taken over as it is.
func TestForeignIPFIXExporter(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		byHand(t, b, &ipfix_export.SetIpfixExporter{
			CollectorAddress: address("192.0.2.9"), CollectorPort: 4739, SrcAddress: address("192.0.2.1"), VrfID: math.MaxUint32,
			PathMtu: 1450, TemplateInterval: 20,
		}, &ipfix_export.SetIpfixExporterReply{})
		b.Resync()
		all := values(b.Dump("vpp-ipfix"))
		if len(all) != 1 {
			t.Fatalf("read back %v", all)
		}
		if ops := b.Change(all); len(ops) > 0 {
			t.Errorf("taken over with %q", ops)
		}
		for key := range all {
			b.Want(states{key: configured})
		}
		b.Must(deleted(all))
		b.Stop()
	})
}

// An address that is in the NAT44 pool because an interface has it is no pool of addresses.
func TestForeignNAT44InterfaceAddress(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("x", "198.51.100.2/24"), &nat.Nat44Global{EndpointIndependent: false}))
		request := &ed.Nat44AddDelInterfaceAddr{IsAdd: true, SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "x"))}
		byHand(t, b, request, &ed.Nat44AddDelInterfaceAddrReply{})
		b.Resync()
		pools := values(b.Dump("vpp-nat44-address-pool"))
		for key, pool := range pools {
			if len(kvs.Unmodeled(pool)) == 0 {
				t.Errorf("%s is a pool of its own", key)
			}
			plain := proto.Clone(pool)
			plain.ProtoReflect().SetUnknown(nil)
			if err := b.Commit(values{key: plain}); err == nil || !strings.Contains(err.Error(), "interface ") {
				t.Errorf("%s: %v, expected an error that names the interface", key, err)
			}
		}
		if len(pools) != 1 {
			t.Errorf("read back %v", pools)
		}
		b.Must(deleted(pools))
		request.IsAdd = false
		byHand(t, b, request, &ed.Nat44AddDelInterfaceAddrReply{})
		b.Must(deleted(of(loop("x"), &nat.Nat44Global{})))
		b.Stop()
	})
}
