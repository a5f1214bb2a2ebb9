package vpptest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/classifyplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/policerplugin"

	classifyapi "go.fd.io/govpp/binapi/classify"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A restarted agent finds chains of tables and equal tables again, with their sessions and bindings,
// and changes nothing.
func TestClassifierAfterRestart(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		last, first := catalogue.ClassifyTable("z-last"), catalogue.ClassifyTable("a-first")
		first.NextTable = "m-middle"
		middle := proto.CloneOf(first)
		middle.Name, middle.NextTable = "m-middle", "z-last"
		all := of(loop("lo", "10.1.1.1/24"), last, middle, first,
			&classify.Session{Table: "a-first", Match: "ffff", Next: classify.Next_DENY},
			&classify.Session{Table: "z-last", Match: "00000000000000000000000000000000c0000201", Next: classify.Next_DENY},
			&l3.VrfTable{Id: 7}, &classify.Session{Table: "m-middle", Match: "00", Action: classify.Session_IP4_VRF, VrfId: 7},
			&classify.Binding{Interface: "lo", Table: "a-first"})
		b.Must(all)
		b.Stop()
		b = vpptest.Start(t, target)
		if target.Sim != nil {
			for name, n := range sent(target, func() { b.FullResync(all) }) {
				if !reads(name) {
					t.Errorf("the second agent sent %s %d times", name, n)
				}
			}
		} else {
			b.FullResync(all)
		}
		allConfigured(t, b, all)
		b.InSync()

		end := proto.CloneOf(middle)
		end.NextTable = ""
		b.Must(of(end)) // VPP changes it in place
		allConfigured(t, b, all)
		b.InSync()
		b.Must(deleted(all))
	})
}

// A table that another client has bound gives way: VPP answers the addition of another one with success,
// and ignores it.
func TestClassifierBindingInTheWay(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	b.CLI("classify table mask hex 00ff buckets 2 acl-miss-next 0")
	b.Must(of(loop("lo", "10.1.1.1/24")))
	for _, d := range b.AllInterfaces() {
		if d.Tag == "lo" {
			b.CLI("set interface input acl intfc " + d.InterfaceName + " ip4-table 0")
		}
	}
	all := of(catalogue.ClassifyTable("mine"), &classify.Binding{Interface: "lo", Table: "mine"})
	b.Must(all)
	allConfigured(t, b, all)
	b.InSync()
	b.Must(deleted(all))
}

// A table takes about as many sessions as it has room for: VPP crashes at some times as many.
func TestClassifierRoom(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		const room = 2048
		table := &classify.Table{Name: "full", Mask: "ffffffffffff", MaxSessions: room}
		b.Must(of(table))
		all, random := values{}, rand.New(rand.NewPCG(1, 2))
		for len(all) < room+1000 {
			all[catalogue.Key(classifierSession(random))] = nil
		}
		random = rand.New(rand.NewPCG(1, 2))
		for range all {
			s := classifierSession(random)
			all[catalogue.Key(s)] = s
		}
		_ = b.Commit(all)
		refused := 0
		for key := range all {
			if b.Scheduler.GetValueStatus(key).GetValue().GetState() != configured {
				refused++
				if why := b.Scheduler.GetValueStatus(key).GetValue().GetError(); !strings.Contains(why, "table: has no room for more than 2048 sessions") {
					t.Fatalf("%s: %s", key, why)
				}
			}
		}
		// VPP has not counted all of those that are being added.
		if refused < 1000-2*kvs.MaxBatch || refused > 1000 {
			t.Errorf("%d of %d sessions were refused, expected about 1000", refused, len(all))
		}
		b.Must(deleted(all))
		b.Must(deleted(of(table)))
	})
}

func classifierSession(random *rand.Rand) *classify.Session {
	return &classify.Session{Table: "full", Match: fmt.Sprintf("%012x", random.Uint64()>>16), Next: classify.Next_DENY}
}

// Bindings to policers and flows are found again, as often as they change.
func TestClassifierHooks(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		binding := func(hook classify.Binding_Hook, packets classify.Binding_Packets, table string) *classify.Binding {
			return &classify.Binding{Interface: "lo", Hook: hook, Packets: packets, Table: table}
		}
		all := of(loop("lo", "10.1.1.1/24"), catalogue.ClassifyTable("acl"), catalogue.ClassifyPolicers("policed"), catalogue.ClassifyPolicers("other"), catalogue.ClassifyFlows("flows"),
			binding(classify.Binding_INPUT_ACL, classify.Binding_IP4, "acl"), binding(classify.Binding_POLICER, classify.Binding_IP4, "policed"),
			binding(classify.Binding_POLICER, classify.Binding_IP6, "policed"), binding(classify.Binding_POLICER, classify.Binding_L2, "policed"),
			binding(classify.Binding_FLOW, classify.Binding_IP4, "flows"), binding(classify.Binding_FLOW, classify.Binding_IP6, "flows"))
		b.Must(all)
		b.Stop()
		b = vpptest.Start(t, target)
		b.FullResync(all)
		allConfigured(t, b, all)
		b.InSync()
		for _, node := range []string{"ip4-inacl", "ip4-policer-classify", "ip6-policer-classify", "ip4-flow-classify", "ip6-flow-classify"} {
			if n := nodeCount(t, b, "lo", node); n != 1 {
				t.Errorf("%d times %s", n, node)
			}
		}
		for _, table := range []string{"other", "policed"} {
			changed := of(binding(classify.Binding_POLICER, classify.Binding_IP4, table))
			b.Must(changed)
			allConfigured(t, b, changed)
			b.InSync()
		}
		table := of(catalogue.ClassifyPolicers("policed"))
		b.Must(deleted(table))
		b.Want(states{catalogue.Key(binding(classify.Binding_POLICER, classify.Binding_L2, "")): pending})
		b.Must(table)
		allConfigured(t, b, all)
		b.Must(deleted(of(binding(classify.Binding_POLICER, classify.Binding_IP4, "policed"), binding(classify.Binding_FLOW, classify.Binding_IP6, "flows"))))
		for _, node := range []string{"ip4-policer-classify", "ip6-flow-classify"} {
			if n := nodeCount(t, b, "lo", node); n > 0 {
				t.Errorf("%d times %s without a binding", n, node)
			}
		}
		b.Must(deleted(all))
	})
}

// Sessions with policers are found again, follow their policers, and have their place in tables for policers
// alone. A VPP before 23.06 does not report the numbers of policers.
func TestClassifierPolicers(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		policed := &classify.Session{Table: "policed", Match: policedMatch, Policer: "silver", Opaque: 1}
		first, second := catalogue.ClassifyPolicers("policed"), catalogue.ClassifyPolicers("z-second")
		first.NextTable = "z-second"
		all := of(loop("lo", "10.1.1.1/24"), first, second, catalogue.Policer("gold"), catalogue.Policer("silver"), policed,
			&classify.Binding{Interface: "lo", Hook: classify.Binding_POLICER, Table: "policed"})
		if policerplugin.ByIndex.Check(b.If.Southbound()) != nil {
			if err := b.Commit(all); err == nil || !strings.Contains(err.Error(), "policer_dump_v2") {
				t.Errorf("error %v", err)
			}
			b.Want(states{catalogue.Key(policed): impossible})
			return
		}
		b.Must(all)
		b.Stop()
		b = vpptest.Start(t, target)
		b.FullResync(all)
		allConfigured(t, b, all)
		b.InSync()

		silver := of(catalogue.Policer("silver"))
		b.Must(deleted(silver))
		b.Want(states{catalogue.Key(policed): pending})
		b.Must(silver)
		gold := proto.CloneOf(policed)
		gold.Policer = "gold"
		b.Must(of(gold))
		allConfigured(t, b, all)
		b.InSync()

		acl, flows := catalogue.ClassifyTable("acl"), catalogue.ClassifyFlows("flows")
		b.Must(of(acl, flows))
		for want, v := range map[string]proto.Message{
			`table: "acl" is a table for the use ACL, expected one for POLICER`:      &classify.Session{Table: "acl", Match: "00", Policer: "gold"},
			`table: "policed" is a table for the use POLICER, expected one for ACL`:  &classify.Session{Table: "policed", Match: "00"},
			`table: "flows" is a table for the use FLOW, expected one for ACL`:       &classify.Session{Table: "flows", Match: "00"},
			`table: "acl" is a table for the use ACL, expected one for FLOW`:         &classify.Binding{Interface: "lo", Hook: classify.Binding_FLOW, Table: "acl"},
			`next_table: "policed" is a table for the use POLICER, expected one for`: &classify.Table{Name: "chained", Mask: "ff", NextTable: "policed"},
		} {
			if err := b.Commit(of(v)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
		}
	})
}

// policedMatch is the destination address 198.51.100.1 under the mask of catalogue.ClassifyPolicers.
const policedMatch = "00000000000000000000000000000000000000000000000000000000000000000001"

// The policer of a session drops packets above its rate, and VPP counts the packets of flows.
func TestTrafficClassifier(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t), vpptest.Quiet())
	red, blue := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "198.51.100.1/24")
	red.via("192.0.2.254")
	blue.via("198.51.100.254")
	blue.ip("-n", blue.ns, "address", "add", "198.51.100.2/24", "dev", "eth0")
	b.Must(of(red.af("red", "192.0.2.254/24"), blue.af("blue", "198.51.100.254/24")))
	red.reaches("198.51.100.1")
	red.reaches("198.51.100.2")

	slow := catalogue.Policer("slow")
	slow.Cir = 40
	const packets = 1000
	policing := of(slow, catalogue.ClassifyPolicers("policed"), &classify.Session{Table: "policed", Match: policedMatch, Policer: "slow"},
		&classify.Binding{Interface: "red", Hook: classify.Binding_POLICER, Table: "policed"})
	b.Must(policing)
	for address, least := range map[string]int{"198.51.100.1": 1, "198.51.100.2": packets * 95 / 100} {
		sent, answered := red.flood(address, packets)()
		t.Logf("%d of %d packets to %s were answered", answered, sent, address)
		if limited := least == 1; sent != packets || answered < least || limited && answered > packets*9/10 {
			t.Errorf("%d of %d packets to %s were answered", answered, sent, address)
		}
	}
	b.InSync()
	b.Must(deleted(of(slow))) // the session waits, packets pass
	red.reaches("198.51.100.1")
	b.Must(deleted(policing))

	flows := of(catalogue.ClassifyFlows("flows"), &classify.Binding{Interface: "red", Hook: classify.Binding_FLOW, Table: "flows"})
	b.Must(flows)
	red.reaches("198.51.100.1")
	red.reaches("198.51.100.2")
	if n := len(classifierSessions(t, b)); n != 2 {
		t.Errorf("VPP has %d sessions, expected one for each address", n)
	}
	if n := len(b.Dump(classifyplugin.SessionName)); n != 0 {
		t.Errorf("%d sessions of flows are items", n)
	}
	b.InSync()
	b.Must(deleted(flows))
	red.reaches("198.51.100.1")
}

// classifierSessions returns the sessions of the tables that VPP has.
func classifierSessions(t *testing.T, b *vpptest.Harness) (all []*classifyapi.ClassifySessionDetails) {
	t.Helper()
	ids := &classifyapi.ClassifyTableIdsReply{}
	if err := b.Mux.Conn().Call(t.Context(), &classifyapi.ClassifyTableIds{}, ids); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids.Ids {
		found, err := session.Dump[*classifyapi.ClassifySessionDetails](t.Context(), b.If.Southbound(), &classifyapi.ClassifySessionDump{TableID: id})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}
