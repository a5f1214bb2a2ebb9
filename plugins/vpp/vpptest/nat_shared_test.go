package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	ei "go.fd.io/govpp/binapi/nat44_ei"
	vpp64 "go.fd.io/govpp/binapi/nat64"
	vpp66 "go.fd.io/govpp/binapi/nat66"
	"go.fd.io/govpp/binapi/nat_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
	nat66 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat66"
)

// sharedNAT is a NAT that the agent enables and another client uses.
type sharedNAT struct {
	global, limited proto.Message // limited has other limits; nil: there are none
	// others adds to the NAT what another client has in it; on is an interface.
	others func(t *testing.T, b *vpptest.Harness, on interface_types.InterfaceIndex)
	// free removes it.
	free func(t *testing.T, b *vpptest.Harness, on interface_types.InterfaceIndex)
	// count is how much of it VPP has, and says what it is called.
	count func(t *testing.T, b *vpptest.Harness) int
	says  string
}

func sharedNATs() map[string]sharedNAT {
	addr4, addr6 := ip_types.IP4Address{192, 0, 2, 7}, ip_types.IP6Address{0x20, 1, 0xd, 0xb8, 15: 7}
	change := func(requests func(on interface_types.InterfaceIndex, add bool) []api.Message, replies ...api.Message) (add, remove func(*testing.T, *vpptest.Harness, interface_types.InterfaceIndex)) {
		send := func(add bool) func(*testing.T, *vpptest.Harness, interface_types.InterfaceIndex) {
			return func(t *testing.T, b *vpptest.Harness, on interface_types.InterfaceIndex) {
				t.Helper()
				for i, req := range requests(on, add) {
					byHand(t, b, req, replies[i])
				}
			}
		}
		return send(true), send(false)
	}
	all := map[string]sharedNAT{}
	add, remove := change(func(on interface_types.InterfaceIndex, add bool) []api.Message {
		return []api.Message{
			&ed.Nat44AddDelAddressRange{FirstIPAddress: addr4, LastIPAddress: addr4, VrfID: 0, IsAdd: add},
			&ed.Nat44InterfaceAddDelFeature{IsAdd: add, Flags: nat_types.NAT_IS_INSIDE, SwIfIndex: on},
		}
	}, &ed.Nat44AddDelAddressRangeReply{}, &ed.Nat44InterfaceAddDelFeatureReply{})
	all["NAT44"] = sharedNAT{
		&nat.Nat44Global{Forwarding: true}, &nat.Nat44Global{Forwarding: true, MaxSessions: 5000}, add, remove, func(t *testing.T, b *vpptest.Harness) int {
			return len(dumped[*ed.Nat44AddressDetails](t, b, &ed.Nat44AddressDump{})) + len(dumped[*ed.Nat44InterfaceDetails](t, b, &ed.Nat44InterfaceDump{}))
		}, "interfaces (1), addresses (1)",
	}
	add, remove = change(func(_ interface_types.InterfaceIndex, add bool) []api.Message {
		return []api.Message{&ei.Nat44EiAddDelAddressRange{FirstIPAddress: addr4, LastIPAddress: addr4, VrfID: 0, IsAdd: add}}
	}, &ei.Nat44EiAddDelAddressRangeReply{})
	all["NAT44 EI"] = sharedNAT{
		&nat.Nat44Global{EndpointIndependent: true}, &nat.Nat44Global{EndpointIndependent: true, MaxUsers: 5000}, add, remove, func(t *testing.T, b *vpptest.Harness) int {
			return len(dumped[*ei.Nat44EiAddressDetails](t, b, &ei.Nat44EiAddressDump{}))
		}, "addresses (1)",
	}
	add, remove = change(func(on interface_types.InterfaceIndex, add bool) []api.Message {
		return []api.Message{
			&vpp64.Nat64AddDelPoolAddrRange{StartAddr: addr4, EndAddr: addr4, IsAdd: add},
			&vpp64.Nat64AddDelInterface{IsAdd: add, Flags: nat_types.NAT_IS_INSIDE, SwIfIndex: on},
			&vpp64.Nat64AddDelPrefix{IsAdd: add, Prefix: ip_types.IP6Prefix{Address: ip_types.IP6Address{0x20, 1, 0xd, 0xb8}, Len: 96}},
		}
	}, &vpp64.Nat64AddDelPoolAddrRangeReply{}, &vpp64.Nat64AddDelInterfaceReply{}, &vpp64.Nat64AddDelPrefixReply{})
	all["NAT64"] = sharedNAT{
		&nat64.Global{Timeouts: &nat64.Global_Timeouts{Udp: 77}}, nil, add, remove, func(t *testing.T, b *vpptest.Harness) int {
			return len(dumped[*vpp64.Nat64PoolAddrDetails](t, b, &vpp64.Nat64PoolAddrDump{})) + len(dumped[*vpp64.Nat64InterfaceDetails](t, b, &vpp64.Nat64InterfaceDump{})) +
				len(dumped[*vpp64.Nat64PrefixDetails](t, b, &vpp64.Nat64PrefixDump{}))
		}, "interfaces (1), addresses (1), prefixes (1)",
	}
	add, remove = change(func(on interface_types.InterfaceIndex, add bool) []api.Message {
		return []api.Message{
			&vpp66.Nat66AddDelStaticMapping{IsAdd: add, LocalIPAddress: addr6, ExternalIPAddress: addr6},
			&vpp66.Nat66AddDelInterface{IsAdd: add, SwIfIndex: on},
		}
	}, &vpp66.Nat66AddDelStaticMappingReply{}, &vpp66.Nat66AddDelInterfaceReply{})
	all["NAT66"] = sharedNAT{&nat66.Global{}, nil, add, remove, func(t *testing.T, b *vpptest.Harness) int {
		return len(dumped[*vpp66.Nat66StaticMappingDetails](t, b, &vpp66.Nat66StaticMappingDump{})) + len(dumped[*vpp66.Nat66InterfaceDetails](t, b, &vpp66.Nat66InterfaceDump{}))
	}, "interfaces (1), mappings (1)"}
	return all
}

// A NAT that another client of VPP uses stays enabled when the item that enabled it is withdrawn, with
// what the other client has in it. The plan says so. Other limits are refused; the item can come back,
// and the NAT is disabled when no other client uses it.
func TestWithdrawnNATOfOthers(t *testing.T) {
	for name, c := range sharedNATs() {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) { withdrawNAT(t, target, c) })
		})
	}
}

func withdrawNAT(t *testing.T, target vpptest.Target, c sharedNAT) {
	b := vpptest.Start(t, target)
	own := of(loop("own", "10.0.0.1/24"), loop("in", "10.0.1.1/24"), c.global)
	if _, is := c.global.(*nat.Nat44Global); is {
		own[key(&nat.Nat44Interface{Name: "own"})] = &nat.Nat44Interface{Name: "own", NatOutside: true}
	}
	b.Must(own)
	allConfigured(t, b, own)
	on := interface_types.InterfaceIndex(indexOf(b, "in"))
	mine := c.count(t, b)
	c.others(t, b, on)
	all := c.count(t, b)
	withdrawn := deleted(own)
	delete(withdrawn, ifKey("own"))
	delete(withdrawn, ifKey("in"))
	says := planReason(t, b, withdrawn, key(c.global))
	if !strings.HasPrefix(says, "left in the southbound, because other processes use it: ") {
		t.Errorf("the plan says %q", says)
	}
	if c.limited != nil {
		willFail(t, b, c.limited)
	}
	expect := func(when string, n int) {
		t.Helper()
		if got := c.count(t, b); got != n {
			t.Errorf("%s: VPP has %d parts, expected %d", when, got, n)
		}
	}
	b.Must(withdrawn)
	expect("withdrawn", all-mine)
	b.FullResync(of(loop("own", "10.0.0.1/24"), loop("in", "10.0.1.1/24")))
	expect("resync", all-mine)
	for _, o := range b.Scheduler.Orphans() {
		if o.Ours {
			t.Errorf("orphan of the agent: %+v", o)
		}
		if o.Key == key(c.global) && o.Marked {
			t.Error("the NAT of another client is marked as an agent's")
		}
	}
	if c.limited != nil {
		willFail(t, b, c.limited)
		if err := b.Commit(of(c.limited)); err == nil || !strings.Contains(err.Error(), "what other clients of VPP have in it: "+c.says) {
			t.Errorf("other limits: %v", err)
		}
		expect("other limits", all-mine)
	}
	b.Must(of(c.global))
	expect("configured again", all-mine)
	b.InSync()
	c.free(t, b, on)
	b.Must(deleted(of(c.global)))
	expect("free", 0)
	b.FullResync(of(loop("own", "10.0.0.1/24"), loop("in", "10.0.1.1/24")))
	for _, o := range b.Scheduler.Orphans() {
		if o.Key == key(c.global) {
			t.Errorf("the NAT is still enabled: %+v", o)
		}
	}
}

// willFail expects a plan of other limits to predict the refusal.
func willFail(t *testing.T, b *vpptest.Harness, limited proto.Message) {
	t.Helper()
	if says := planReason(t, b, of(limited), key(limited)); !strings.HasPrefix(says, "the change will fail, because it deletes and creates the object, and other processes use it: ") {
		t.Errorf("the plan of other limits says %q", says)
	}
}

// planReason returns what a plan of changes says about a key.
func planReason(t *testing.T, b *vpptest.Harness, changes values, key string) string {
	t.Helper()
	txn := b.Scheduler.StartNBTransaction()
	for k, v := range changes {
		txn.SetValue(k, v)
	}
	plan, err := txn.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range plan.Reasons {
		if r.Key == key {
			return r.Reason
		}
	}
	return ""
}
