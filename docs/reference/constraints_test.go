package reference

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/constraints"
)

// vppcfg has the constraints that the tool vppcfg documents, and what stands for them here: the
// names of constraints, or how the agent checks each item.
var vppcfg = [][2]string{
	{"addresses are unique; networks of interfaces do not overlap", "`address-overlap` (in one VRF)"},
	{"an address is in canonical form", "any form is accepted"},
	{"an unnumbered interface has no addresses, and does not borrow from itself", "field errors of `vpp.interfaces`"},
	{"the target of an unnumbered interface is not unnumbered", "`unnumbered-chain`"},
	{"the target of an unnumbered interface is not in L2 mode", "`unnumbered-layer2`"},
	{"targets, members, parents and BVIs exist", "items wait for them: PENDING"},
	{"an interface is in one bridge domain; a BVI in one bridge domain", "`bridge-domain-twice`"},
	{"a bridge domain has one BVI", "field error of `vpp.l2.bridge-domain`"},
	{"a bridged or cross-connected interface has no addresses", "`layer2-with-addresses`"},
	{"a bridged or cross-connected interface has no LCP", "`pair-layer2`"},
	{"members of a bridge domain have one MTU", "`bridge-domain-mtu`"},
	{"an interface in a bridge domain is not cross-connected, and no target of one", "`bridge-domain-and-cross-connect`, `cross-connect-to-bridge-domain`"},
	{"a target of a cross-connect is unique", "`cross-connect-target-twice`"},
	{"a cross-connect has different ends", "`cross-connect-to-itself`"},
	{"both ends of a cross-connect have one MTU", "`cross-connect-mtu`"},
	{"a cross-connected interface has no sub-interfaces", "`cross-connect-parent`"},
	{"a bond member is in one bond, and a whole interface", "`bond-member-twice`, `bond-member-kind`"},
	{"a bond member has no sub-interfaces, addresses, LCP or MAC address", "`bond-member-sub-interfaces`, `bond-member-addresses`, `pair-layer2`, `bond-member-mac`, `bond-member-layer2`"},
	{"a bond member has the MTU of the bond", "`bond-member-mtu`"},
	{"load balancing only in the modes XOR and LACP", "`bond-load-balance`"},
	{"numbers of bonds, loopbacks, TAPs and tunnels are in range and unique", "names are free here; `bond-id-twice`"},
	{"MAC addresses are not multicast", "field error of `vpp.interfaces`"},
	{"MTUs are in range", "field error of `vpp.interfaces`"},
	{"the MTU of a sub-interface is not larger than the MTU of its parent", "`sub-interface-mtu`"},
	{"a sub-interface is up only if its parent is", "`sub-interface-state`"},
	{"sub-interfaces of one parent have different encapsulations", "`sub-interface-twice`"},
	{"sub-interfaces with addresses match exactly", "all sub-interfaces here do"},
	{"names of LCPs are unique", "`pair-name-twice`"},
	{"a sub-interface with an LCP has a parent with an LCP", "`pair-parent`"},
	{"both ends of a VXLAN tunnel are of one address family", "field error of `vpp.interfaces`"},
	{"VNIs are unique", "`tunnel-twice` (VPP allows a VNI several times with different ends)"},
	{"names of TAPs in the host are unique", "`tap-name-twice`"},
	{"ring sizes of TAPs are powers of two", "field errors of `vpp.interfaces`"},
	{"a TAP has no addresses and sub-interfaces", "both are useful, and accepted"},
	{"ACLs: families of both ends agree, ranges ascend, ports and types fit the protocol", "field errors of `vpp.acls.acl`"},
}

func writeConstraints(_ *testing.T, w *writer) {
	w.heading("constraint", "level", "what must hold")
	for _, c := range constraints.All() {
		level := "warning"
		if c.Error {
			level = "error"
		}
		w.row("`"+c.Name+"`", level, c.Doc)
	}
	w.printf("\n## Compared to vppcfg\n")
	w.heading("constraint of vppcfg", "here")
	for _, row := range vppcfg {
		w.row(row[0], row[1])
	}
}

// What stands for a constraint of vppcfg exists.
func TestVppcfgConstraints(t *testing.T) {
	t.Parallel()
	var known []string
	for _, c := range constraints.All() {
		known = append(known, c.Name)
	}
	for _, row := range vppcfg {
		for i, name := range strings.Split(row[1], "`") {
			if i%2 == 1 && !strings.HasPrefix(name, "vpp.") && !slices.Contains(known, name) {
				t.Errorf("%s: there is no constraint %s", row[0], name)
			}
		}
	}
}
