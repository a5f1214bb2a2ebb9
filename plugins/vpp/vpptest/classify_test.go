package vpptest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
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
