package vpptest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	aclapi "go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// permits is a list that lets everything through.
func permits(name string, ifs *acl.ACL_Interfaces) *acl.ACL {
	return &acl.ACL{Name: name, Interfaces: ifs, Rules: []*acl.ACL_Rule{
		{Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{}},
	}}
}

// received is a list that lets through everything that an interface receives.
func received(name string, order int32, interfaces ...string) *acl.ACL {
	return permits(name, &acl.ACL_Interfaces{Ingress: interfaces, Order: order})
}

// tagsOn are the tags of the lists that VPP has on an interface, in its order: those for
// received packets, a bar, and those for sent ones.
func tagsOn(t *testing.T, b *vpptest.Harness, iface string) string {
	t.Helper()
	tags := map[uint32]string{}
	for _, d := range dumped[*aclapi.ACLDetails](t, b, &aclapi.ACLDump{ACLIndex: math.MaxUint32}) {
		tags[d.ACLIndex] = d.Tag
	}
	on := dumped[*aclapi.ACLInterfaceListDetails](t, b, &aclapi.ACLInterfaceListDump{SwIfIndex: interface_types.InterfaceIndex(indexOf(b, iface))})
	var words []string
	for n, index := range on[0].Acls {
		if n == int(on[0].NInput) {
			words = append(words, "|")
		}
		words = append(words, tags[index])
	}
	return strings.Join(words, " ")
}

func dumped[D api.Message](t *testing.T, b *vpptest.Harness, req api.Message) []D {
	t.Helper()
	found, err := binapi.Dump[D](t.Context(), b.Mux.Conn(), req)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// byHand sends a request of another client.
func byHand(t *testing.T, b *vpptest.Harness, req, reply api.Message) {
	t.Helper()
	if err := b.Mux.Conn().Call(t.Context(), req, reply); err != nil {
		t.Fatal(err)
	}
}

// addList makes a list without rules as another client.
func addList(t *testing.T, b *vpptest.Harness, tag string) uint32 {
	t.Helper()
	reply := &aclapi.ACLAddReplaceReply{}
	byHand(t, b, &aclapi.ACLAddReplace{ACLIndex: math.MaxUint32, Tag: tag}, reply)
	return reply.ACLIndex
}

// Lists of an interface are in their order, by name if that is equal, and lists of other
// clients stay in their places.
func TestACLOrder(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		is := func(want string) {
			t.Helper()
			if got := tagsOn(t, b, "x"); got != want {
				t.Errorf("VPP has %q, expected %q", got, want)
			}
			b.InSync()
		}
		b.Must(of(loop("x"), received("c", 0, "x"), received("a", 0, "x"), received("b", 0, "x"),
			permits("out", &acl.ACL_Interfaces{Egress: []string{"x"}})))
		is("a b c | out")

		// The order changes without a rule being sent, two lists at once.
		b.Must(of(received("c", -1, "x"), received("a", 7, "x")))
		is("c b a | out")

		// Another client has a list in between, and one before all.
		foreign, unnamed := addList(t, b, "foreign"), addList(t, b, "")
		index := func(tag string) uint32 {
			for _, d := range dumped[*aclapi.ACLDetails](t, b, &aclapi.ACLDump{ACLIndex: math.MaxUint32}) {
				if d.Tag == tag {
					return d.ACLIndex
				}
			}
			t.Fatalf("VPP has no list %q", tag)
			return 0
		}
		set := func(inputs uint8, lists ...uint32) {
			t.Helper()
			byHand(t, b, &aclapi.ACLInterfaceSetACLList{
				SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "x")), NInput: inputs, Acls: lists,
			}, &aclapi.ACLInterfaceSetACLListReply{})
		}
		set(5, foreign, index("c"), index("b"), unnamed, index("a"), index("out"))
		b.InSync()
		b.Must(of(received("0", 0, "x"), received("b", 1, "x")))
		is("foreign c 0  b a | out")
		b.Must(deleted(of(received("b", 1, "x"))))
		is("foreign c 0  a | out")

		// Another client changes the order of ours: a resync corrects that.
		set(4, index("a"), index("c"), index("0"), foreign, index("out"))
		b.Resync()
		is("c 0 a foreign | out")

		// The interface is deleted and created again.
		b.Must(deleted(of(loop("x"))))
		b.Want(states{"vpp/acl/a/interface/ingress/x": pending})
		b.Must(of(loop("x")))
		is("c 0 a | out")
		b.Must(deleted(of(loop("x"), received("0", 0), received("a", 0), received("c", 0), permits("out", nil))))
		for _, index := range []uint32{foreign, unnamed} {
			byHand(t, b, &aclapi.ACLDel{ACLIndex: index}, &aclapi.ACLDelReply{})
		}
		b.Stop()
	})
}

// A list that another client uses is not deleted, and the error says why.
func TestACLUsedByAnother(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		list := permits("mine", nil)
		b.Must(of(loop("x"), list))
		index := dumped[*aclapi.ACLDetails](t, b, &aclapi.ACLDump{ACLIndex: math.MaxUint32})[0].ACLIndex
		x := interface_types.InterfaceIndex(indexOf(b, "x"))
		byHand(t, b, &aclapi.ACLInterfaceSetACLList{SwIfIndex: x, NInput: 1, Acls: []uint32{index}}, &aclapi.ACLInterfaceSetACLListReply{})
		if err := b.Commit(deleted(of(list))); err == nil || !strings.Contains(err.Error(), "another client of VPP uses the list") {
			t.Errorf("deleted: %v", err)
		}
		byHand(t, b, &aclapi.ACLInterfaceSetACLList{SwIfIndex: x}, &aclapi.ACLInterfaceSetACLListReply{})
		b.Resync()
		if left := dumped[*aclapi.ACLDetails](t, b, &aclapi.ACLDump{ACLIndex: math.MaxUint32}); len(left) > 0 {
			t.Errorf("VPP has %v after a resync", left)
		}
		b.Must(deleted(of(loop("x"))))
		b.Stop()
	})
}

// manyRules returns a list with n rules, which differ from the rules of other salts.
func manyRules(name string, n, salt int, interfaces ...string) *acl.ACL {
	list := &acl.ACL{Name: name, Interfaces: &acl.ACL_Interfaces{Ingress: interfaces}}
	for i := range n {
		port := uint32(i%1000 + salt + 1)
		list.Rules = append(list.Rules, &acl.ACL_Rule{Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{
			Ip:  &acl.ACL_Rule_IpRule_Ip{SourceNetwork: fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255), DestinationNetwork: "192.0.2.0/24"},
			Tcp: &acl.ACL_Rule_IpRule_Tcp{DestinationPortRange: &acl.ACL_Rule_IpRule_PortRange{LowerPort: port, UpperPort: port}},
		}})
	}
	return list
}

// A list can have 10,000 rules, which are replaced in one request while it is in use, and
// there can be 1,000 lists. Another agent finds them as they are.
func TestACLScale(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		const rules, lists = 10_000, 1_000
		b := vpptest.Start(t, target, vpptest.Quiet())
		begin := time.Now()
		took := func(what string) {
			t.Logf("%s took %v", what, time.Since(begin).Round(time.Millisecond))
			begin = time.Now()
		}
		all := of(loop("x"), manyRules("big", rules, 0, "x"))
		b.Must(all)
		took("10,000 rules")
		if ops := b.Change(of(manyRules("big", rules, 1, "x"))); len(ops) != 1 || !strings.HasPrefix(ops[0], "update") {
			t.Errorf("other rules take %q", ops)
		}
		took("10,000 other rules")
		all = of(loop("x"), manyRules("big", rules, 1, "x"))
		for i := range lists {
			list := manyRules(fmt.Sprintf("list-%04d", i), 5, i)
			if i < 50 {
				list.Interfaces.Ingress = []string{"x"}
			}
			for key, v := range of(list) {
				all[key] = v
			}
		}
		b.Must(all)
		took("1,000 lists")
		if got := len(strings.Fields(tagsOn(t, b, "x"))); got != 51 {
			t.Errorf("%d lists on the interface, expected 51", got)
		}
		b.Stop()
		b = vpptest.Start(t, target, vpptest.Quiet())
		begin = time.Now()
		if ops := b.FullResync(all); len(ops) > 0 {
			t.Errorf("another agent had to %q", ops)
		}
		took("a resync of all")
		b.Must(deleted(all))
		took("the deletion of all")
		if left := dumped[*aclapi.ACLDetails](t, b, &aclapi.ACLDump{ACLIndex: math.MaxUint32}); len(left) > 0 {
			t.Errorf("%d lists are left", len(left))
		}
		b.Stop()
	})
}
