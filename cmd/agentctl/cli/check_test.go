package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// mistakes are typical ones: what to write instead of a text of testdata/router.yaml.
var mistakes = [][2]string{
	{"", ""}, // the right file
	{"vppConfig:", "vpp:"},
	{"    type: AF_PACKET\n    enabled: true\n    ipAddresses", "    type: AFPACKET\n    enabled: true\n    ipAddresses"},
	{"WIREGUARD_TUNNEL", "WIREGUARD"},
	{"ipAddresses: [10.1.0.1/24]", "ipAddress: [10.1.0.1/24]"},
	{"hostIfName: lan0", "hostIfname: lan0"},
	{"10.1.0.1/24", "10.1.0.300/24"},
	{"10.1.0.1/24", "10.1.0.1/33"},
	{"10.1.0.1/24", "10.1.0.1"},
	{"  - name: bvi10\n", "  - nam: bvi10\n"},
	{"  - name: bvi10\n", "  - name: lan.10\n"},
	{"    mtu: 1420\n", "   mtu: 1420\n"},
	{"    mtu: 1420\n", "\tmtu: 1420\n"},
	{"mtu: 1420", "mtu: 99999"},
	{"mtu: 1420", "mtu: large"},
	{"  interfaces:\n  - name: lan\n", "  interface:\n  - name: lan\n"},
	{"10.10.0.1/24", "10.10.0.0/24"},
	{"02:00:00:00:00:10", "02:00:00:00:00:1g"},
	{"subId: 20", "subId: 5000"},
	{"parentName: lan,", "parentName: lann,"},
	{"outgoingInterface: wan.20", "outgoingInterface: wan20"},
	{"ingress: [wan]", "ingress: [wan0]"},
	{"{name: lan.10}", "{name: lan10}"},
	{"{id: 20, label: wan}", "{id: 21, label: wan}"},
	{"vrfId: 20, firstIp", "vrfId: 2, firstIp"},
	{"10.10.0.1/24", "10.1.0.9/24"},
	{"{name: lan.10}", "{name: lan}"},
	{"  - name: bd10\n", "  - {name: bd9, forward: true, flood: true, learn: true, interfaces: [{name: lan.10}]}\n  - name: bd10\n"},
	{"    - {name: bvi10, bridged", "    - {name: wan, bridgedVirtualInterface: true}\n    - {name: bvi10, bridged"},
	{"    flood: true\n    forward: true\n    learn: true\n", ""},
	{"    enabled: true\n    mtu: 1420", "    mtu: 1420"},
	{"3fBmk=", "3fBm"},
	{"port: 51820", "port: 518200"},
	{"nextHopAddr: 10.99.0.2", "nextHopAddr: 2001:db8::2"},
	{"nextHopAddr: 10.99.0.2, outgoingInterface: wg0", "nextHopAddr: 10.99.0.2, outgoingInterface: wg1"},
	{"dstNetwork: 10.50.0.0/16, ", ""},
	{"action: DENY", "action: DROP"},
	{"destinationNetwork: 0.0.0.0/0}}}\n    interfaces", "destinationNetwork: \"::/0\"}}}\n    interfaces"},
	{"firstIp: 203.0.113.10", "firstIp: 203.0.113.10, lastIp: 203.0.113.1"},
	{"nat44Global: {forwarding: true}", "nat44Global: {forwarding: maybe}"},
}

// TestMistakes shows what check prints about typical mistakes: the cause comes first, with its
// line and column. Items that wait for the cause are counted.
func TestMistakes(t *testing.T) {
	t.Parallel()
	program := agentProgram(t)
	text, err := os.ReadFile("testdata/router.yaml")
	infratest.Fatal(t, err)
	screens, waiting, free := make([]string, len(mistakes)), sync.WaitGroup{}, make(chan bool, 4)
	for i, m := range mistakes {
		if strings.Count(string(text), m[0]) != 1 && m[0] != "" {
			t.Fatalf("%q is not once in the file", m[0])
		}
		file := write(t, "net.yaml", strings.Replace(string(text), m[0], m[1], 1))
		waiting.Go(func() {
			free <- true
			defer func() { <-free }()
			r := run(t, nil, "check", "--assume-links", "--program", program, file)
			screens[i] = fmt.Sprintf("## %q -> %q\n%sexit code %d\n\n", m[0], m[1], strings.ReplaceAll(r.out+r.err, file, "router.yaml"), r.code)
		})
	}
	waiting.Wait()
	checkGolden(t, "mistakes.txt", strings.Join(screens, ""))
}

// checkGolden compares what check prints with a file in testdata.
func checkGolden(t *testing.T, file, got string) {
	t.Helper()
	golden := filepath.Join("testdata", file)
	if *update {
		infratest.Fatal(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	infratest.Fatal(t, err)
	if got != string(want) {
		t.Errorf("check prints\n%s\nexpected\n%s\n(-update writes what it prints)", got, want)
	}
}

// A reference that nothing in the file meets is named with its field, through derived values as well;
// equal ones are counted. Items wait for what is not in the file even if others have mistakes.
func TestReferences(t *testing.T) {
	t.Parallel()
	program := agentProgram(t)
	routes := "vppConfig:\n  interfaces: [{name: wan, type: SOFTWARE_LOOPBACK}]\n  routes:\n"
	for i := range 300 {
		routes += fmt.Sprintf("  - {dstNetwork: 10.%d.%d.0/24, outgoingInterface: wann}\n", i/200, i%200)
	}
	const keys = "data:\n- {key: config/vpp/v2/interfaces/a, value: {name: b, type: SOFTWARE_LOOPBACK}}\n" +
		"- {key: config/vpp/v2/route/vrf/0/dst/10.0.0.0/8/gw/1.2.3.4, value: {dst_network: 10.0.0.0/8, next_hop_addr: 1.2.3.4, outgoing_interface: b}}\n"
	references, err := os.ReadFile("testdata/references.yaml")
	infratest.Fatal(t, err)
	hidden, err := os.ReadFile("testdata/hidden.yaml")
	infratest.Fatal(t, err)
	got := ""
	// What refers to an interface in whatever way only waits for the interface if that has a mistake, or
	// waits itself.
	with := func(sub string) string {
		return strings.Replace(string(references), "  interfaces:\n", "  interfaces:\n  - {name: lop1, type: SUB_INTERFACE, enabled: true, sub: {"+sub+"}}\n", 1)
	}
	for _, text := range []string{string(references), string(hidden), routes, keys, with("parentName: lann, subId: 1"), with("parentName: loop1, subId: 9999")} {
		file := write(t, "net.yaml", text)
		r := run(t, nil, "check", "--program", program, file)
		got += fmt.Sprintf("%sexit code %d\n\n", strings.ReplaceAll(r.out+r.err, file, "net.yaml"), r.code)
	}
	checkGolden(t, "references.txt", got)
}
