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
	golden := filepath.Join("testdata", "mistakes.txt")
	got := strings.Join(screens, "")
	if *update {
		infratest.Fatal(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	infratest.Fatal(t, err)
	if got != string(want) {
		t.Errorf("check prints\n%s\nexpected\n%s\n(-update writes what it prints)", got, want)
	}
}
