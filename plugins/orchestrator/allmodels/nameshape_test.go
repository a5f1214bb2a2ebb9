package allmodels_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// TestNameShape shows what names look like, and names that are none; that all
// names of items match is a part of TestNamesFollowTemplates.
func TestNameShape(t *testing.T) {
	t.Parallel()
	s := set(t)
	for name, want := range map[string]struct {
		text  string
		wrong []string
	}{
		"vpp.interfaces":     {"<Name>", nil},
		"vpp.l2.fib":         {"<BridgeDomain>/mac/<PhysAddress>", []string{"bd1", "bd1/02:00:00:00:00:01"}},
		"vpp.vrf-table":      {"id/<Id>/protocol/<Protocol>", []string{"1", "id/one/protocol/IPV4", "id/1/protocol/ipv4", "id/1"}},
		"vpp.abfs.abf":       {"<Index>", []string{"abf1"}},
		"vpp.nat.nat44-pool": {"(<Name>|vrf/<VrfId>/address/<FirstIp>[-<LastIp>])", nil},
		"linux.l3.route":     {"[table/<Table>/]<IP>/<MaskSize>/<OutgoingInterface>", []string{"10.0.0.0"}},
		"vpp.route": {"[if/<OutgoingInterface>/]vrf/<VrfId>/dst/<IP>/<MaskSize>/[gw/<NextHopAddr>]",
			[]string{"vrf/x/dst/10.0.0.0/8/", "vrf/0/dst/10.0.0.0/8", "10.0.0.0/8", "vrf/0/10.0.0.0/8/gw/10.0.0.1"}},
		"vpp.ipsec.sp": {"spd/<SpdIndex>/sa/<SaIndex>/(outbound/|inbound/)local-addresses/<LocalAddrStart>-<LocalAddrStop>/remote-addresses/<RemoteAddrStart>-<RemoteAddrStop>",
			[]string{"spd/1/sa/2/sideways/local-addresses/-/remote-addresses/-"}},
	} {
		m, _ := s.ForName(name)
		shape, text, ok := allmodels.NameShape(m)
		if !ok || text != want.text {
			t.Errorf("%s: names look like %q, want %q", name, text, want.text)
			continue
		}
		for _, wrong := range want.wrong {
			if shape.MatchString(wrong) {
				t.Errorf("%s: %q matches %v", name, wrong, shape)
			}
		}
	}
	global, _ := s.ForName("vpp.nat.nat44-global")
	if _, _, ok := allmodels.NameShape(global); ok {
		t.Error("a model without names has a shape of them")
	}
}
