package model

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/proto/protodoc"
)

// explain marks the required fields of messages within items, and the conditions of others.
func TestExplainMarksNestedFields(t *testing.T) {
	t.Parallel()
	comments, err := protodoc.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set := allmodels.MustSet()
	e := &explainer{set, document.New(set), comments}
	for _, c := range []struct{ name, want string }{
		{"vpp.interfaces", "\n  name  <string>  -required-\n"},
		{"vpp.interfaces", "\n  memif  <MemifLink>  -required if type is MEMIF-  (one of link)\n"},
		{"vpp.interfaces.bond.bonded_interfaces", "\n  name  <string>  -required-\n"},
		{"vpp.interfaces.bond.bonded_interfaces.name", "FIELD:    vpp.interfaces.bond.bonded_interfaces.name  <string>  -required-\n"},
		{"vpp.interfaces.sub", "\n  parent_name  <string>  -required-\n"},
		{"vpp.interfaces.sub", "\n  sub_id  <uint32>  1 to 4095  -required-\n"},
		{"vpp.interfaces.vxlan", "\n  dst_address  <string>  an IP address  -required-\n"},
		{"vpp.interfaces.ipip", "\n  dst_addr  <string>  an IP address  -required if tunnel_mode is POINT_TO_POINT-\n"},
		{"vpp.nat.dnat44.st_mappings.local_ips", "\n  local_ip  <string>  an IPv4 address  -required-\n"},
		{"vpp.ipsec.sa", "\n  crypto_key  <string>  -required if crypto_alg is not NONE_CRYPTO-\n"},
		{"vpp.l2.bridge-domain.interfaces", "\n  name  <string>  -required-\n"},
		{"vpp.classify.table", "\n  name  <string>  -required-\n"}, // the name of the item
		{"linux.interfaces.interface.veth", "\n  peer_if_name  <string>  -required-\n"},
	} {
		x, err := e.explain(c.name)
		if err != nil {
			t.Error(err)
		} else if text := x.text(); !strings.Contains(text, c.want) {
			t.Errorf("explain %s has no %q:\n%s", c.name, c.want, text)
		}
	}
}
