package vppsim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// randomRequest makes up one request over a small world, so that requests meet.
func randomRequest(r *rand.Rand) string {
	requests := randomRequests(func(values ...string) string { return values[r.IntN(len(values))] })
	return requests[r.IntN(len(requests))]()
}

func randomRequests(pick func(...string) string) []func() string {
	index := func() string { return pick("1", "2", "3", "4", "5") }
	flag := func() string { return pick("true", "false") }
	addr := func() string { return pick("10.0.0.1", "10.0.0.2", "10.0.1.1", "10.1.0.1", "10.0.0.255") }
	mac := func() string { return "02:00:00:00:00:0" + pick("1", "2", "3") }
	table := func() string { return pick("0", "0", "1", "2") }
	prefix := func() string {
		return pick("10.0.0.0/24", "20.0.0.0/24", "20.0.0.5/32", "0.0.0.0/0", "10.0.0.2/32", "10.1.0.0/16")
	}
	path := func() string {
		return pick(
			`{"sw_if_index":`+index()+`,"nh":"`+addr()+`","weight":1}`,
			`{"sw_if_index":`+index()+`}`,
			`{"sw_if_index":4294967295,"table_id":`+table()+`,"nh":"`+pick("10.0.0.9", "20.0.0.7", "30.0.0.1")+`"}`,
			`{"sw_if_index":4294967295,"type":2}`,
			`{"sw_if_index":4294967295,"table_id":`+table()+`}`,
		)
	}
	return append(randomL3Requests(pick), []func() string{
		func() string { return `create_loopback {"mac_address":"` + mac() + `"}` },
		func() string { return `create_loopback` },
		func() string { return `delete_loopback {"sw_if_index":` + index() + `}` },
		func() string {
			return `sw_interface_set_flags {"sw_if_index":` + index() + `,"flags":` + pick("0", "1", "1") + `}`
		},
		func() string {
			return `sw_interface_add_del_address {"is_add":` + flag() + `,"sw_if_index":` + index() + `,"prefix":"` + addr() + pick("/24", "/24", "/32", "/31", "/16") + `"}`
		},
		func() string {
			return `sw_interface_set_table {"sw_if_index":` + index() + `,"vrf_id":` + table() + `}`
		},
		func() string {
			return `ip_table_add_del {"is_add":true,"table":{"table_id":` + table() + `}}`
		},
		func() string {
			return `ip_route_add_del {"is_add":` + flag() + `,"is_multipath":` + flag() + `,"route":{"table_id":` + table() + `,"prefix":"` + prefix() + `","paths":[` + path() + `]}}`
		},
		func() string {
			return `ip_neighbor_add_del {"is_add":` + flag() + `,"neighbor":{"sw_if_index":` + index() + `,"flags":` + pick("0", "1", "3") + `,"mac_address":"` + mac() + `","ip_address":"` + addr() + `"}}`
		},
		func() string {
			return `bridge_domain_add_del {"is_add":` + flag() + `,"bd_id":` + pick("1", "2") + `,"flood":true,"forward":true}`
		},
		func() string {
			return `sw_interface_set_l2_bridge {"enable":` + flag() + `,"rx_sw_if_index":` + index() + `,"bd_id":` + pick("1", "2") + `,"port_type":` + pick("0", "0", "1") + `}`
		},
		func() string {
			return `sw_interface_set_l2_xconnect {"enable":` + flag() + `,"rx_sw_if_index":` + index() + `,"tx_sw_if_index":` + index() + `}`
		},
		func() string {
			return `l2fib_add_del {"is_add":` + flag() + `,"mac":"` + mac() + `","bd_id":` + pick("1", "2") + `,"sw_if_index":` + index() + `,"static_mac":true}`
		},
		func() string {
			return `sw_interface_tag_add_del {"is_add":` + flag() + `,"sw_if_index":` + index() + `,"tag":"t"}`
		},
		func() string {
			return `l2_interface_vlan_tag_rewrite {"sw_if_index":` + index() + `,"vtr_op":` + pick("0", "1", "3", "5") + `,"push_dot1q":1,"tag1":9}`
		},
	}...)
}

// randomScript is a sequence of random requests with everything dumped now and then.
func randomScript(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var out strings.Builder
	for i := range n {
		fmt.Fprintln(&out, "> "+randomRequest(r))
		if (i+1)%20 == 0 {
			for _, dump := range append(randomL3Dumps(),
				`sw_interface_dump {"sw_if_index":4294967295}`,
				`ip_table_dump`,
				`ip_route_v2_dump {"table":{}}`, `ip_route_v2_dump {"table":{"table_id":1}}`, `ip_route_v2_dump {"table":{"table_id":2}}`,
				`ip_neighbor_dump {"sw_if_index":4294967295}`,
				`bridge_domain_dump {"bd_id":4294967295,"sw_if_index":4294967295}`,
				`l2_fib_table_dump {"bd_id":4294967295}`,
				`l2_xconnect_dump`,
				`ip_address_dump {"sw_if_index":1}`, `ip_address_dump {"sw_if_index":2}`, `ip_address_dump {"sw_if_index":3}`,
			) {
				fmt.Fprintln(&out, "> "+dump)
			}
		}
	}
	return out.String()
}

// TestRandomRequestsEndInTheSameState: the simulator is a function of its requests.
func TestRandomRequestsEndInTheSameState(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		var dumps, answers [2]string
		for at := range dumps {
			vpp, socket := startSimulator(t, vppsim.Options{})
			answers[at] = runScript(t, dial(t, socket), randomScript(seed, 200))
			dumps[at] = vpp.Dump()
		}
		if dumps[0] != dumps[1] || answers[0] != answers[1] {
			t.Errorf("seed %d:\n%s", seed, diff(dumps[0]+answers[0], dumps[1]+answers[1]))
		}
	}
}

// comparable leaves out of the answers what is not simulated: routes exported to
// other tables (source 17), and the MACs that a VPP learns from its own packets (all
// that are not static).
func comparable(answers string) string {
	var kept []string
	for line := range strings.Lines(unordered(answers)) {
		learnt := strings.HasPrefix(line, `{"bd_id":`) && strings.Contains(line, `,"mac":`) && !strings.Contains(line, `"static_mac"`)
		if !learnt && !strings.Contains(line, `"src":17,`) {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, ""), "\n")
}

// TestConformanceRandom makes a real VPP and the simulator answer the same random
// requests. VPP_RANDOM is the number of sequences (3 if not set), VPP_SEED the first
// seed.
func TestConformanceRandom(t *testing.T) {
	if realvpptest.Find() == "" {
		t.Skip("NOT CHECKED AGAINST A REAL VPP: there is no vpp in PATH and VPP_BIN is not set")
	}
	sequences, err := strconv.Atoi(os.Getenv("VPP_RANDOM"))
	if err != nil {
		sequences = 3
	}
	first, _ := strconv.Atoi(os.Getenv("VPP_SEED"))
	for i := range sequences {
		seed := uint64(first + i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			script := randomScript(seed, 200)
			c := dial(t, realvpptest.Start(t).Socket)
			_, socket := startSimulator(t, simulated(t, releaseOf(t, c)))
			want := comparable(runScript(t, dial(t, socket), script))
			answers, err := tryScript(t, c, script)
			got := comparable(answers)
			if err != nil {
				t.Logf("VPP did not survive, compared up to there: %v", err)
				want = want[:min(len(want), len(got))]
			}
			if want != got {
				t.Errorf("a real VPP answers differently:\n%s\nthe whole sequence:\n%s", diff(want, got), want)
			}
		})
	}
}
