package vpptest_test

import (
	"math"
	"strings"
	"testing"

	abfapi "go.fd.io/govpp/binapi/abf"
	aclapi "go.fd.io/govpp/binapi/acl"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// steers is a policy that sends what a list permits to a next hop.
func steers(index uint32, list, iface, hop string, attached ...*abf.ABF_AttachedInterface) *abf.ABF {
	return &abf.ABF{
		Index: index, AclName: list, AttachedInterfaces: attached,
		ForwardingPaths: []*abf.ABF_ForwardingPath{{NextHopIp: hop, InterfaceName: iface, Weight: 1}},
	}
}

func attachedTo(iface string, priority uint32, ipv6 bool) *abf.ABF_AttachedInterface {
	return &abf.ABF_AttachedInterface{InputInterface: iface, Priority: priority, IsIpv6: ipv6}
}

// An interface can be listed for both versions of IP. VPP takes one of them, and the error of
// the other one says so; with a policy of its own it is configured.
func TestABFBothVersions(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		const ipv4Key, ipv6Key = "vpp/abf/1/interface/in", "vpp/abf/1/ipv6-interface/in"
		needs := of(loop("in"), loop("out", "10.9.0.1/24", "2001:db8:9::1/64"), permits("all", nil))
		b.Must(needs)
		both := steers(1, "all", "out", "10.9.0.2", attachedTo("in", 0, false), attachedTo("in", 0, true))
		err := b.Commit(of(both))
		if err == nil || !strings.Contains(err.Error(), `attached_interfaces.is_ipv6: "in" has the policy for the other one already`) {
			t.Errorf("attached for both: %v", err)
		}
		b.Want(states{ipv4Key: configured})
		if got := b.State(ipv6Key); got != failed && got != kvscheduler.ValueState_RETRYING {
			t.Errorf("%s is %s", ipv6Key, got)
		}
		if all := dumped[*abfapi.AbfItfAttachDetails](t, b, &abfapi.AbfItfAttachDump{}); len(all) != 1 || all[0].Attach.IsIPv6 {
			t.Errorf("VPP has %v", all)
		}

		// IPv6 alone has the key that it always had.
		one, two := steers(1, "all", "out", "10.9.0.2", attachedTo("in", 0, false)),
			steers(2, "all", "out", "2001:db8:9::2", attachedTo("in", 0, true))
		b.Must(of(one, two))
		b.Want(states{ipv4Key: configured, "vpp/abf/2/interface/in": configured})
		b.InSync()
		b.Must(deleted(of(one, two)))
		b.Must(deleted(needs))
		b.Stop()
	})
}

// A policy is deleted and created again with its ACL, and uses the index of the new ACL.
func TestABFFollowsItsList(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		list, policy := permits("all", nil), steers(1, "all", "out", "10.9.0.2", attachedTo("in", 3, false))
		ifs := of(loop("in"), loop("out", "10.9.0.1/24"))
		b.Must(ifs)
		b.Must(of(policy))
		b.Want(states{"config/vpp/abfs/v2/abf/1": pending})
		b.Must(of(list))
		b.Want(states{"config/vpp/abfs/v2/abf/1": configured, "vpp/abf/1/interface/in": configured})

		// Other rules in place.
		other := permits("all", nil)
		other.Rules[0].Action = acl.ACL_Rule_DENY
		if ops := b.Change(of(other)); len(ops) != 1 {
			t.Errorf("other rules take %q", ops)
		}
		macs := &acl.ACL{Name: "all", Rules: []*acl.ACL_Rule{{MacipRule: &acl.ACL_Rule_MacIpRule{}}}}
		if err := b.Commit(of(macs)); err == nil || !strings.Contains(err.Error(), `acl_name: "all" has MAC/IP rules`) {
			t.Errorf("with a list of MAC/IP rules: %v", err)
		}
		b.Must(of(list))
		b.Resync() // the transaction was not to be retried
		b.Want(states{"vpp/abf/1/interface/in": configured})
		b.Must(deleted(of(list)))
		b.Want(states{"config/vpp/abfs/v2/abf/1": pending})
		if all := dumped[*abfapi.AbfPolicyDetails](t, b, &abfapi.AbfPolicyDump{}); len(all) > 0 {
			t.Errorf("VPP has %v without the list", all)
		}
		foreign := addList(t, b, "foreign") // takes the index
		b.Must(of(list))
		b.Want(states{"vpp/abf/1/interface/in": configured})
		if all := dumped[*abfapi.AbfPolicyDetails](t, b, &abfapi.AbfPolicyDump{}); len(all) != 1 || all[0].Policy.ACLIndex == foreign {
			t.Errorf("VPP has %v", all)
		}
		b.InSync()

		// The interface of the policy is deleted, and the interface of its path.
		b.Must(deleted(of(loop("in"))))
		b.Want(states{"config/vpp/abfs/v2/abf/1": configured, "vpp/abf/1/interface/in": pending})
		b.Must(deleted(of(loop("out"))))
		b.Want(states{"config/vpp/abfs/v2/abf/1": pending})
		b.Must(ifs)
		b.Want(states{"vpp/abf/1/interface/in": configured})
		b.InSync()
		b.Must(deleted(of(list, policy)))
		b.Must(deleted(ifs))
		byHand(t, b, &aclapi.ACLDel{ACLIndex: foreign}, &aclapi.ACLDelReply{})
		if left := dumped[*aclapi.ACLDetails](t, b, &aclapi.ACLDump{ACLIndex: math.MaxUint32}); len(left) > 0 {
			t.Errorf("%d lists are left", len(left))
		}
		b.Stop()
	})
}
