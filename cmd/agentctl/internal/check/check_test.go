package check

import (
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// What constraints call refused is not in effect in an agent.
func TestRefusedItemsAreNotInEffect(t *testing.T) {
	t.Parallel()
	const text = `vppConfig:
  interfaces:
  - {name: o1, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.0.1/24]}
  - {name: o2, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.0.2/32]}
  - {name: o3, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.1.0.1/24, 10.1.0.2/25]}
  - {name: o4, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: ["2001:db8::1/64"]}
  - {name: o5, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: ["2001:db8::2/64"]}
  - {name: n1, type: SOFTWARE_LOOPBACK, enabled: true, unnumbered: {interfaceWithIp: n2}}
  - {name: n2, type: SOFTWARE_LOOPBACK, enabled: true, unnumbered: {interfaceWithIp: o1}}
  - {name: l1, type: SOFTWARE_LOOPBACK, enabled: true}
  - {name: l2, type: SOFTWARE_LOOPBACK, enabled: true}
  - {name: b1, type: BOND_INTERFACE, enabled: true, bond: {id: 1, mode: XOR}}
  - {name: b2, type: BOND_INTERFACE, enabled: true, bond: {id: 1, mode: XOR}}
  - {name: b3, type: BOND_INTERFACE, enabled: true, bond: {id: 3, mode: XOR, bondedInterfaces: [{name: m1}]}}
  - {name: b4, type: BOND_INTERFACE, enabled: true, bond: {id: 4, mode: XOR, bondedInterfaces: [{name: m1}]}}
  - {name: b5, type: BOND_INTERFACE, enabled: true, bond: {id: 5, mode: XOR, bondedInterfaces: [{name: b1}]}}
  - {name: m1, type: MEMIF, enabled: true, memif: {id: 1, master: true, socketFilename: /s1}}
  - {name: m2, type: MEMIF, enabled: true, memif: {id: 1, master: true, socketFilename: /s1}}
  - {name: m3, type: MEMIF, enabled: true, memif: {id: 3, socketFilename: /s1}}
  - {name: s1, type: SUB_INTERFACE, enabled: true, sub: {parentName: l1, subId: 5}}
  - {name: s2, type: SUB_INTERFACE, enabled: true, sub: {parentName: l1, subId: 5}}
  - {name: v1, type: VXLAN_TUNNEL, enabled: true, vxlan: {srcAddress: 10.0.0.1, dstAddress: 10.9.0.2, vni: 5}}
  - {name: v2, type: VXLAN_TUNNEL, enabled: true, vxlan: {srcAddress: 10.0.0.1, dstAddress: 10.9.0.2, vni: 5}}
  - {name: g1, type: GRE_TUNNEL, enabled: true, gre: {tunnelType: L3, srcAddr: 10.0.0.1, dstAddr: 10.9.0.2}}
  - {name: g2, type: GRE_TUNNEL, enabled: true, gre: {tunnelType: L3, srcAddr: 10.0.0.1, dstAddr: 10.9.0.2}}
  - {name: i1, type: IPIP_TUNNEL, enabled: true, ipip: {srcAddr: 10.0.0.1, dstAddr: 10.9.0.2}}
  - {name: i2, type: IPIP_TUNNEL, enabled: true, ipip: {srcAddr: 10.0.0.1, dstAddr: 10.9.0.2}}
  - {name: u1, type: GTPU_TUNNEL, enabled: true, gtpu: {srcAddr: 10.0.0.1, dstAddr: 10.9.0.2, teid: 5}}
  - {name: u2, type: GTPU_TUNNEL, enabled: true, gtpu: {srcAddr: 10.0.0.3, dstAddr: 10.9.0.2, teid: 5}}
  - {name: a1, type: AF_PACKET, enabled: true, afpacket: {hostIfName: e0}}
  - {name: a2, type: AF_PACKET, enabled: true, afpacket: {hostIfName: e0}}
  bridgeDomains:
  - {name: bd1, forward: true, flood: true, learn: true, interfaces: [{name: l1}]}
  - {name: bd2, forward: true, flood: true, learn: true, interfaces: [{name: l1}]}
  - {name: bd3, forward: true, flood: true, learn: true, interfaces: [{name: l2}]}
  xconnectPairs:
  - {receiveInterface: l2, transmitInterface: m1}
linuxConfig:
  interfaces:
  - {name: e0, type: DUMMY, enabled: true}
  - {name: d1, type: DUMMY, enabled: true, hostIfName: e0}
  - {name: w1, type: VLAN, enabled: true, vlan: {parentInterface: e0, vlanId: 5}}
  - {name: w2, type: VLAN, enabled: true, vlan: {parentInterface: e0, vlanId: 5}}
  - {name: p1, type: VETH, enabled: true, veth: {peerIfName: p2}}
  - {name: p2, type: VETH, enabled: true, veth: {peerIfName: p1}}
  - {name: p3, type: VETH, enabled: true, veth: {peerIfName: p1}}
`
	o := &options{Factory: cmdutil.NewFactory(output.Streams{}, config.NoEnviron, time.Now, output.Terminal{})}
	predicted := o.predicted("net.yaml", document.New(o.Models.Set()).Decode("net.yaml", []byte(text), ""), &document.Locator{Text: []byte(text)})
	checked, err := app.Check(t.Context(), []byte(text), nil)
	if checked.Outcome == nil {
		t.Fatal(checked, err)
	}
	without := map[string]string{}
	for _, r := range checked.Outcome.Results {
		without[r.Key] = r.State
	}
	for _, f := range predicted.list {
		if f.Level == outcome.Error && without[f.Key] == "" && without[f.Other] == "" {
			t.Errorf("%s is in effect, and so is %s: %s", f.Key, f.Other, f.Message)
		}
	}
	if len(predicted.refused) != 20 {
		t.Errorf("%d refused items, want 20: %v", len(predicted.refused), predicted.refused)
	}
}

// Items with an error in one field are checked by their other fields, except where the error may be the cause.
func TestConstraintsOfItemsWithErrors(t *testing.T) {
	t.Parallel()
	const head = "vppConfig:\n  interfaces:\n  - {name: a, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.0.1/24]}\n  - "
	for text, want := range map[string]int{
		"{name: b, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.0.2/24], mtu: large}":  1,
		"{name: b, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.0.2/24], mtuu: 1}":     1,
		"{name: b, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.0.2/24], vrf: seven}":  0, // it is not in VRF 0
		"{name: b, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.0.0.2/24], vrfId: 7}":    0,
		"{name: b, type: SOFTWARE_LOOPBACK, enabled: maybe, ipAddresses: [10.0.1.2/24], mtu: large}": 0, // it may be enabled
	} {
		o := &options{Factory: cmdutil.NewFactory(output.Streams{}, config.NoEnviron, time.Now, output.Terminal{})}
		doc := document.New(o.Models.Set()).Decode("net.yaml", []byte(head+text+"\n"), "")
		if got := o.predicted("net.yaml", doc, &document.Locator{Text: []byte(head + text)}); len(doc.Partial) != 1 || len(got.list) != want || got.mistakes+got.warnings != want {
			t.Errorf("%s: %d items with errors, expected 1; %+v, expected %d findings", text, len(doc.Partial), got.list, want)
		}
	}
}

// An error hides the items of the models that are below its field, as it was meant.
func TestHidden(t *testing.T) {
	t.Parallel()
	known := places{}
	for _, place := range []string{"linuxConfig.interfaces", "linuxConfig.routes", "vppConfig.interfaces", "vppConfig.routes"} {
		known.add(place)
	}
	for path, want := range map[string][]string{
		"vppConfig.interface":          {"vppConfig.interfaces"},
		"vppConfig.interfaces[3]":      {"vppConfig.interfaces"},
		"vppConfig.interfaces[3].mtuu": nil,
		"vppConfig.routes[0].next[2]":  nil,
		"vppConfig.interfaces":         nil,
		"vppConfig.nothing":            nil,
		"routes":                       {"linuxConfig.routes", "vppConfig.routes"},
		"linux":                        {"linuxConfig.interfaces", "linuxConfig.routes"},
		"":                             nil,
	} {
		if got := known.hidden(path); !slices.Equal(got, want) {
			t.Errorf("%q hides %q, want %q", path, got, want)
		}
	}
}
