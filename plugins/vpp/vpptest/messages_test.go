package vpptest_test

import (
	"fmt"
	"strings"
	"testing"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// VPP may stop its workers for every message, so the number of messages is what
// a change costs it.

// sent returns how many requests of each name do makes.
func sent(target vpptest.Target, do func()) map[string]int {
	before := target.Sim.Counts()
	do()
	counts := map[string]int{}
	for name, n := range target.Sim.Counts() {
		if n > before[name] {
			counts[name] = int(n - before[name])
		}
	}
	return counts
}

// reads reports whether a request changes nothing.
func reads(name string) bool {
	for _, suffix := range []string{"_dump", "_get", "_lookup", "control_ping", "show_version", "show_running_config",
		"classify_table_ids", "classify_table_info", "policer_dump_v2",
		"cli_inband", // what old releases report nowhere else
	} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.Contains(name, "_get_") || strings.HasPrefix(name, "want_") // subscriptions belong to the connection
}

// bridged is as many loopbacks with an address each, half of them in one bridge
// domain.
func bridged(n int) values {
	all := values{}
	bd := &l2.BridgeDomain{Name: "bd", Flood: true, Forward: true, Learn: true}
	for i := range n {
		lo := loop(fmt.Sprintf("lo%04d", i), fmt.Sprintf("10.%d.%d.1/24", i>>8, i&0xff))
		all[ifKey(lo.Name)] = lo
		if i%2 == 0 {
			bd.Interfaces = append(bd.Interfaces, &l2.BridgeDomain_Interface{Name: lo.Name})
		}
	}
	all[bdKey(bd.Name)] = bd
	return all
}

// Interfaces and the members of a bridge domain cost as many messages each,
// however many there are: nothing is read once per item.
func TestMessagesPerInterface(t *testing.T) {
	t.Parallel()
	const few, many = 100, 1000
	made, removed := map[int]map[string]int{}, map[int]map[string]int{}
	for _, n := range []int{few, many} {
		target := vpptest.Simulator(t, simOptions())
		b := vpptest.Start(t, target)
		all := bridged(n)
		made[n] = sent(target, func() { b.Must(all) })
		allConfigured(t, b, all)
		removed[n] = sent(target, func() { b.Must(deleted(all)) })
	}
	for _, counts := range []map[int]map[string]int{made, removed} {
		for name, n := range counts[many] {
			if n > many+10 {
				t.Errorf("%d interfaces: %d times %s", many, n, name)
			}
			// Events are followed by a look at all, how often depends on time.
			if reads(name) && n > many/10 {
				t.Errorf("%d interfaces: read %d times with %s", many, n, name)
			}
		}
		if writes(counts[many]) > 10*writes(counts[few]) {
			t.Errorf("%v for %d, %v for %d", counts[few], few, counts[many], many)
		}
	}
}

func writes(counts map[string]int) (n int) {
	for name, c := range counts {
		if !reads(name) {
			n += c
		}
	}
	return n
}

// The paths of a destination that change together go in one message.
func TestMessagesOfPaths(t *testing.T) {
	t.Parallel()
	const destinations, paths = 50, 8
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	b.Must(of(loop("lo", "10.1.0.1/16")))
	routes := values{}
	for d := range destinations {
		for p := range paths {
			r := &l3.Route{DstNetwork: fmt.Sprintf("20.0.%d.0/24", d), NextHopAddr: fmt.Sprintf("10.1.0.%d", 2+p), OutgoingInterface: "lo"}
			routes[routeKey(r)] = r
		}
	}
	made := sent(target, func() { b.Must(routes) })["ip_route_add_del"]
	removed := sent(target, func() { b.Must(deleted(routes)) })["ip_route_add_del"]
	most := destinations + len(routes)/kvs.MaxBatch + 1 // two batches may share a destination
	if made > most || removed > most {
		t.Errorf("%d and %d messages for %d routes to %d destinations", made, removed, len(routes), destinations)
	}
}

// An agent that finds everything as it should be only reads; one more restart
// of VPP makes it send everything once.
func TestMessagesOfRestarts(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	first := vpptest.Start(t, target)
	all := bridged(200)
	for i := range 200 {
		r := &l3.Route{DstNetwork: fmt.Sprintf("20.0.%d.0/24", i), NextHopAddr: fmt.Sprintf("10.0.%d.2", i|1), OutgoingInterface: fmt.Sprintf("lo%04d", i|1)}
		all[routeKey(r)] = r
	}
	made := sent(target, func() { first.FullResync(all) })
	if made["ip_route_add_del"] != 200 || made["create_loopback"]+made["create_loopback_instance"] != 200 {
		t.Errorf("the first agent sent %v", made)
	}
	first.Stop()
	second := vpptest.Start(t, target)
	for name, n := range sent(target, func() { second.FullResync(all) }) {
		if !reads(name) {
			t.Errorf("a second agent sent %s %d times", name, n)
		}
	}
	allConfigured(t, second, all)

	epoch := second.Mux.Session().Epoch
	again := sent(target, func() {
		target.Restart(t)
		second.Connected(epoch)
	})
	allConfigured(t, second, all)
	for name, n := range made {
		if !reads(name) && again[name] != n {
			t.Errorf("%s %d times for a VPP that restarted, %d times for the first", name, again[name], n)
		}
	}
}

// manyMessages returns which messages a resync of n interfaces sends many times, and how
// often. Two dumps of the addresses of each interface are expected.
func manyMessages(target vpptest.Target, b *vpptest.Harness, n int) map[string]int {
	counts := sent(target, b.InSync)
	for name, count := range counts {
		// control_ping follows each dump
		if count <= 20 || name == "control_ping" || name == "ip_address_dump" && count == 2*n {
			delete(counts, name)
		}
	}
	return counts
}

// A resync reads what VPP reports about one interface only for those that are ours, and
// tables only where there are any.
func TestMessagesOfResync(t *testing.T) {
	t.Parallel()
	const n, domains = 300, 40
	target := vpptest.Simulator(t, simOptions())
	other := vpptest.Start(t, target) // an agent of its own, so that no news of them come in between
	for range n {
		other.CLI("create loopback interface")
	}
	other.Stop()
	b := vpptest.Start(t, target)
	all := bridged(n)
	for i := range domains {
		bd := bridge(fmt.Sprintf("more%d", i))
		bd.ArpTermination = true
		bd.ArpTerminationTable = []*l2.BridgeDomain_ArpTerminationEntry{{IpAddress: fmt.Sprintf("10.0.%d.9", i), PhysAddress: "02:00:00:00:00:01"}}
		all[bdKey(bd.Name)] = bd
	}
	b.Must(all)
	many := manyMessages(target, b, n)
	for try := 0; len(many) > 0 && try < 5; try++ { // the agent still reads interfaces that VPP reported as up
		many = manyMessages(target, b, n)
	}
	for name, count := range many {
		t.Errorf("%d interfaces, %d bridge domains: %d times %s", n, domains, count, name)
	}
	moved := loop("in7", "10.250.0.1/24")
	moved.Vrf = 7
	b.Must(of(moved, &l3.VrfTable{Id: 7}))
	b.Must(of(loop("lo0000"))) // no address: no table
	counts := sent(target, b.InSync)
	if counts["sw_interface_get_table"] != n || counts["ip_address_dump"] != 2*(n+1) {
		t.Errorf("with a table: %v", counts)
	}
	if got := b.Dump("vpp-interface")[ifKey("in7")]; text(got) == "" || !strings.Contains(text(got), `"vrf":7`) {
		t.Errorf("read back %s", text(got))
	}
}
