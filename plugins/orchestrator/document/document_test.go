package document_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

const prefix = "/vnf-agent/vpp1/"

func codec(t testing.TB) *document.Codec {
	t.Helper()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	return document.New(set)
}

func keys(doc *document.Document) string {
	var ks []string
	for _, it := range doc.Items {
		ks = append(ks, fmt.Sprintf("%d:%s", it.Line, it.Key))
	}
	return strings.Join(ks, "\n")
}

func TestBothForms(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, text, want string }{
		"keys": {"a.yaml", `data:
- key: /vnf-agent/vpp1/config/vpp/v2/interfaces/loop1
  value: {name: loop1, type: SOFTWARE_LOOPBACK, enabled: true}
- key: config/vpp/l2/v2/bridge-domain/bd1
  value: '{"name":"bd1","interfaces":[{"name":"loop1"}]}'
- key: /vnf-agent/vpp2/config/vpp/v2/interfaces/other
  value: {nonsense: 1}
`, "2:config/vpp/v2/interfaces/loop1\n4:config/vpp/l2/v2/bridge-domain/bd1"},
		"json": {"a.json", "{\n\t\"data\": [\n\t\t{\"key\": \"config/vpp/v2/interfaces/loop1\", \"value\": {\"name\": \"loop1\", \"type\": \"SOFTWARE_LOOPBACK\"}}\n\t]\n}",
			"3:config/vpp/v2/interfaces/loop1"},
		"grouped": {"a.yaml", `vppConfig:
  interfaces:
  - name: loop1
    type: 1
    ip_addresses: [10.0.0.1/24]
  bridgeDomains:
  - name: bd1
  Route_list:
  - dstNetwork: 10.1.0.0/16
  nat44Global: {forwarding: true}
  vrrps:
linuxConfig:
  interfaces: []
  arp_entries:
  - {interface: veth1, ip_address: 10.0.0.2, hw_address: "02:00:00:00:00:01"}
netalloc_config:
  ip_addresses: [{network_name: n, interface_name: i, address: 10.0.0.0/8}]
`, "3:config/vpp/v2/interfaces/loop1\n7:config/vpp/l2/v2/bridge-domain/bd1\n9:config/vpp/v2/route/vrf/0/dst/10.1.0.0/16/\n" +
			"10:config/vpp/nat/v2/nat44-global\n15:config/linux/l3/v2/arp/veth1/10.0.0.2\n17:config/netalloc/v1/ip/network/n/interface/i"},
		"two documents": {"a.yml", `# comment
vppConfig: {interfaces: [{name: a, type: SOFTWARE_LOOPBACK, mtu: 1400}]}
---
data: [{key: config/vpp/v2/interfaces/b, value: {name: b}}]
---
`, "2:config/vpp/v2/interfaces/a\n4:config/vpp/v2/interfaces/b"},
		"anchors and merges": {"a.yml", `vppConfig:
  interfaces:
  - &base {name: a, type: SOFTWARE_LOOPBACK, enabled: true}
  - <<: *base
    name: b
data:
- {key: config/vpp/v2/interfaces/c, value: {<<: *base, name: c}}
`, "3:config/vpp/v2/interfaces/a\n4:config/vpp/v2/interfaces/b\n7:config/vpp/v2/interfaces/c"},
		"empty":         {"a.yaml", "", ""},
		"empty json":    {"a.json", " \n", ""},
		"only comments": {"a.yaml", "# nothing\n", ""},
		"null":          {"a.yaml", "vppConfig:\ndata:\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := codec(t).Decode(tt.file, []byte(tt.text), prefix)
			if got := keys(doc); got != tt.want {
				t.Errorf("items:\n%s\nwant:\n%s", got, tt.want)
			}
			for _, e := range doc.Errs {
				t.Error(e)
			}
			if foreign := strings.Count(tt.text, "vpp2"); doc.Foreign != foreign {
				t.Errorf("%d foreign items, want %d", doc.Foreign, foreign)
			}
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	doc := codec(t).Decode("a.yaml", []byte(`
data:
- key: config/vpp/v2/interfaces/memif1
  value: |
    {"name": "memif1", "type": "MEMIF", "mtu": 1.5e3,
     "memif": {"id": "7", "master": true}, "physAddress": "02:00:00:00:00:01"}
`), prefix)
	want := &interfaces.Interface{
		Name: "memif1", Type: interfaces.Interface_MEMIF, Mtu: 1500, PhysAddress: "02:00:00:00:00:01",
		Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: 7, Master: true}},
	}
	if len(doc.Errs) > 0 || len(doc.Items) != 1 {
		t.Fatalf("got %v %v, want %v", doc.Items, doc.Errs, want)
	}
	infratest.EqualMessages(t, "item", doc.Items[0].Value, want)
}

// Every invalid item is reported with its position; the valid ones are returned.
func TestErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"unknown field": {"vppConfig:\n  interfaces:\n  - {name: a, type: TAP, enable: true}",
			"f.yaml:3:26: vppConfig.interfaces[0].enable: unknown field of Interface; did you mean enabled?"},
		"unknown type of item": {"vppConfig:\n  interface: []", "f.yaml:2:3: vppConfig.interface: unknown field; did you mean interfaces?"},
		"group left out": {"interfaces: []\nbridgeDomains: []\n", "f.yaml:1:1: interfaces: unknown field, expected data or one of vppConfig, linuxConfig, netallocConfig; did you mean vppConfig.interfaces or linuxConfig.interfaces?\n" +
			"f.yaml:2:1: bridgeDomains: unknown field, expected data or one of vppConfig, linuxConfig, netallocConfig; did you mean vppConfig.bridgeDomains?"},
		"group twice":          {"vppConfig:\n  vppConfig: {}", "f.yaml:2:3: vppConfig.vppConfig: unknown field; expected at the top of the file"},
		"item of other group":  {"linuxConfig:\n  bridgeDomains: []", "f.yaml:2:3: linuxConfig.bridgeDomains: unknown field; did you mean vppConfig.bridgeDomains?"},
		"other word for item":  {"vppConfig:\n  wireguardPeers: []", "f.yaml:2:3: vppConfig.wireguardPeers: unknown field; did you mean wgPeers?"},
		"word of its message":  {"vppConfig:\n  securityAssociations: []", "f.yaml:2:3: vppConfig.securityAssociations: unknown field; did you mean ipsecSas?"},
		"initials":             {"vppConfig: {bridgeDomains: [{name: a, interfaces: [{name: b, bvi: true}]}]}", "f.yaml:1:62: vppConfig.bridgeDomains[0].interfaces[0].bvi: unknown field of Interface; did you mean bridgedVirtualInterface?"},
		"name instead of item": {"vppConfig: {bridgeDomains: [{name: a, interfaces: [b]}]}", `f.yaml:1:52: vppConfig.bridgeDomains[0].interfaces[0]: expected a mapping, got the text "b"; did you mean {name: b}?`},
		"value for list":       {"vppConfig: {interfaces: [{name: a, ipAddresses: 10.0.0.1/24}]}", `f.yaml:1:49: vppConfig.interfaces[0].ipAddresses: expected a list, got the text "10.0.0.1/24"; did you mean [10.0.0.1/24]?`},
		"yes":                  {"vppConfig: {interfaces: [{name: a, enabled: yes}]}", `f.yaml:1:45: vppConfig.interfaces[0].enabled: expected true or false, got the text "yes"; did you mean true?`},
		"unknown group":        {"vpconfig: {}", "f.yaml:1:1: vpconfig: unknown field, expected data or one of vppConfig, linuxConfig, netallocConfig; did you mean vppConfig?"},
		"no mapping":           {"- a", "f.yaml:1:1: expected a mapping, got a list"},
		"no list":              {"vppConfig: {interfaces: {name: a}}", "f.yaml:1:25: vppConfig.interfaces: expected a list, got a mapping"},
		"number for secret":    {"vppConfig: {interfaces: [{name: m, memif: {secret: 4711}}]}", "f.yaml:1:52: vppConfig.interfaces[0].memif.secret: expected a text in quotes (what is there may be a secret, and is not shown)"},
		"number for text":      {"vppConfig: {interfaces: [{name: 7}]}", "f.yaml:1:33: vppConfig.interfaces[0].name: expected a text, got 7; put it in quotes"},
		"text for number":      {"vppConfig: {interfaces: [{name: a, mtu: big}]}", `f.yaml:1:41: vppConfig.interfaces[0].mtu: expected a whole number from 0 to 9216, got the text "big"`},
		"number out of range":  {"vppConfig: {interfaces: [{name: a, mtu: 9217}]}", "f.yaml:1:41: vppConfig.interfaces[0].mtu: expected a whole number from 0 to 9216, got 9217"},
		"negative":             {"vppConfig: {interfaces: [{name: a, vrf: -1}]}", "f.yaml:1:41: vppConfig.interfaces[0].vrf: expected a whole number from 0 to 4294967295, got -1"},
		"truth":                {"vppConfig: {interfaces: [{name: a, enabled: 'true'}]}", `f.yaml:1:45: vppConfig.interfaces[0].enabled: expected true or false, got the text "true"; leave the quotes out`},
		"enum": {"linuxConfig: {interfaces: [{name: a, type: VET}]}",
			`f.yaml:1:44: linuxConfig.interfaces[0].type: expected one of VETH, TAP_TO_VPP, LOOPBACK, EXISTING, VRF_DEVICE, DUMMY, BRIDGE, VLAN, VXLAN, BOND, MACVLAN, IPVLAN, GRE, IPIP, SIT, TUN, TAP, WIREGUARD, got the text "VET"; did you mean VETH?`},
		"enum number": {"linuxConfig: {interfaces: [{name: a, type: 77}]}",
			`f.yaml:1:44: linuxConfig.interfaces[0].type: expected one of VETH, TAP_TO_VPP, LOOPBACK, EXISTING, VRF_DEVICE, DUMMY, BRIDGE, VLAN, VXLAN, BOND, MACVLAN, IPVLAN, GRE, IPIP, SIT, TUN, TAP, WIREGUARD, got 77`},
		"field given twice":      {"vppConfig:\n  interfaces:\n  - name: a\n    name: b", "f.yaml:4:5: vppConfig.interfaces[0].name: given twice, first in line 3"},
		"field under both names": {"vppConfig: {interfaces: [{name: a, ipAddresses: [],\n ip_addresses: []}]}", "f.yaml:2:2: vppConfig.interfaces[0].ip_addresses: given twice, first as ipAddresses in line 1"},
		"two of a oneof":         {"vppConfig: {interfaces: [{name: a, tap: {},\n memif: {}}]}", "f.yaml:2:2: vppConfig.interfaces[0].memif: excludes tap in line 1: expected only one of them"},
		"key given twice": {"vppConfig:\n  interfaces:\n  - {name: a}\ndata:\n- {key: config/vpp/v2/interfaces/a, value: {name: a}}",
			"f.yaml:5:3: data[0]: second value for key config/vpp/v2/interfaces/a, the first is in line 3"},
		"key of an invalid item given twice": {"vppConfig:\n  interfaces:\n  - {name: a, mtuu: 1}\n  - {name: a}",
			"f.yaml:3:15: vppConfig.interfaces[0].mtuu: unknown field of Interface; did you mean mtu?\n" +
				"f.yaml:4:5: vppConfig.interfaces[1]: second value for key config/vpp/v2/interfaces/a, the first is in line 3"},
		"key of an invalid value given twice": {"data:\n- {key: config/vpp/v2/interfaces/a, value: {name: a, mtuu: 1}}\n- {key: config/vpp/v2/interfaces/a, value: {name: a}}",
			"f.yaml:2:54: data[0].value.mtuu: unknown field of Interface; did you mean mtu?\n" +
				"f.yaml:3:3: data[1]: second value for key config/vpp/v2/interfaces/a, the first is in line 2"},
		"key of another value that the text has": {"data:\n- key: config/vpp/v2/interfaces/b\n  value: {name: a, mtu: 9}\n- {key: config/vpp/v2/interfaces/a, value: {name: a}}",
			"f.yaml:2:8: data[0].key: its value has the key config/vpp/v2/interfaces/a, for which the text has another value; remove one of the two"},
		"key of another model": {"data:\n- key: config/vpp/v2/arp/b\n  value: {name: a}",
			"f.yaml:3:11: data[0].value.name: unknown field of ARPEntry; expected one of interface, ipAddress, physAddress, static"},
		"unknown key":   {"data:\n- {key: config/vpp/v2/interface/a, value: {name: a}}", "f.yaml:2:9: data[0].key: no model has the key config/vpp/v2/interface/a; did you mean config/vpp/v2/interfaces/?"},
		"no key":        {"data: [{value: {name: a}}]", "f.yaml:1:8: data[0].key: expected a key such as config/vpp/v2/interfaces/<name>"},
		"no value":      {"data: [{key: config/vpp/v2/interfaces/a}]", "f.yaml:1:8: data[0].value: expected a value of type ligato.vpp.interfaces.Interface"},
		"no name":       {"vppConfig: {interfaces: [{type: TAP}]}", "f.yaml:1:26: vppConfig.interfaces[0]: the item has no name; expected the fields that make up its key config/vpp/v2/interfaces/<name>"},
		"text in value": {"data:\n- key: config/vpp/v2/interfaces/a\n  value: |\n    {\"name\":\n     7}", "f.yaml:5:2: data[0].value.name: expected a text, got 7; put it in quotes"},
		"bad text in value": {"data:\n- key: config/vpp/v2/interfaces/a\n  value: '{name}'",
			"f.yaml:3:2: data[0].value: expected a mapping or the same as text in JSON: invalid character 'n' looking for beginning of object key string"},
		"syntax":    {"vppConfig:\n  a: b: c\n", "f.yaml:2:3: malformed YAML: this is not where a field can be; expected the indentation of the other fields, a ':' in the line above, or quotes around a text with ': '"},
		"not UTF-8": {"vppConfig:\n  a: \xff", "f.yaml:2:6: byte 0xff is not UTF-8"},
		"too deep":  {"vppConfig: {interfaces: [{name: a, tap: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}]}", "f.yaml:1:41: vppConfig.interfaces[0].tap: expected a mapping, got a list"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := codec(t).Decode("f.yaml", []byte(tt.text), prefix)
			var got []string
			for _, e := range doc.Errs {
				got = append(got, e.Error())
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("errors:\n%s\nwant:\n%s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

func TestGoodItemsBesideBadOnes(t *testing.T) {
	t.Parallel()
	doc := codec(t).Decode("f.yaml", []byte(`
vppConfig:
  interfaces:
  - {name: a, mtu: x, vrf: y}
  - {name: b}
  bridgedomain:
  bridgeDomains: [{name: bd1}]
data:
- {key: 1}
- {key: config/vpp/v2/interfaces/c, value: {name: c}}
`), prefix)
	if got, want := keys(doc), "5:config/vpp/v2/interfaces/b\n7:config/vpp/l2/v2/bridge-domain/bd1\n10:config/vpp/v2/interfaces/c"; got != want {
		t.Errorf("items:\n%s\nwant:\n%s", got, want)
	}
	if len(doc.Errs) != 4 || doc.Broken {
		t.Errorf("errors: %v", doc.Errs)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	c := codec(t)
	bomb := "x: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("x%d: &%c [%s]\n", i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 10), ","))
	}
	doc := c.Decode("f.yaml", []byte(bomb+"vppConfig: {interfaces: *i}"), "")
	if len(doc.Errs) == 0 {
		t.Error("no error for a document that expands without end")
	}
	doc = c.Decode("f.json", []byte(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), "")
	if !doc.Broken {
		t.Errorf("deep JSON: %v", doc.Errs)
	}
	doc = c.Decode("f.yaml", make([]byte, 257<<20), "")
	if !doc.Broken || !strings.Contains(doc.Errs[0].Error(), "expected at most 268435456") {
		t.Errorf("large text: %v", doc.Errs)
	}
	doc = c.Decode("f.yaml", []byte("data: ["+strings.Repeat("{key: a},", 500)+"]"), "")
	if n := len(doc.Errs); n != 101 || doc.Errs[100].Error() != "f.yaml: and 400 more errors" {
		t.Errorf("%d errors, the last %v", n, doc.Errs[n-1])
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	c := codec(t)
	in := `vppConfig:
  interfaces:
    - name: loop7
      type: SOFTWARE_LOOPBACK
      enabled: true
      ipAddresses:
        - 10.77.0.1/24
  bridgeDomains:
    - name: "1"
      interfaces:
        - name: if1
  nat44Global:
    forwarding: true
linuxConfig: {}
netallocConfig: {}
`
	doc := c.Decode("f.yaml", []byte(in), "")
	if len(doc.Errs) > 0 {
		t.Fatal(doc.Errs)
	}
	var items []proto.Message
	for _, it := range doc.Items {
		items = append(items, it.Value)
	}
	out, err := c.Encode(items...)
	if err != nil || string(out) != in {
		t.Errorf("got %v\n%s\nwant\n%s", err, out, in)
	}
}

// Enums of list elements are written, also with their zero value.
func TestEncodeZeroEnums(t *testing.T) {
	t.Parallel()
	item := &acl.ACL{Name: "a", Rules: []*acl.ACL_Rule{
		{Action: acl.ACL_Rule_DENY}, {Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{Tcp: &acl.ACL_Rule_IpRule_Tcp{}}}}}
	const want = `name: a
rules:
  - action: DENY
  - action: PERMIT
    ipRule:
      tcp: {}
`
	if out, err := document.EncodeItem(item); err != nil || string(out) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, out, want)
	}
}

// A large text is read whole, with the right number of items and lines.
func TestLarge(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var b strings.Builder
	b.WriteString("vppConfig:\n  routes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - dstNetwork: 10.%d.%d.%d/32\n    nextHopAddr: 192.168.100.1\n    outgoingInterface: loop1\n    weight: 1\n", i>>16, i>>8&255, i&255)
	}
	doc := codec(t).Decode("f.yaml", []byte(b.String()), "")
	if len(doc.Items) != n || len(doc.Errs) > 0 || doc.Items[n-1].Line != 4*n-1 {
		t.Errorf("%d bytes: %d items, errors %v", b.Len(), len(doc.Items), doc.Errs)
	}
	var items []string
	for _, it := range doc.Items {
		items = append(items, fmt.Sprintf(`{"key":%q,"value":{"dst_net":%q}}`, it.Key, "x"))
	}
	text := `{"data":[` + strings.Join(items, ",\n") + "]}"
	if !json.Valid([]byte(text)) {
		t.Fatal("the test made malformed JSON")
	}
	if doc := codec(t).Decode("f.json", []byte(text), ""); len(doc.Errs) != 101 {
		t.Errorf("%d errors for JSON whose fields are wrong", len(doc.Errs))
	}
}

// Entries are sorted by key, however many there are, and each has its line.
func TestReadSorts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 5000, 30_000} {
		var b strings.Builder
		b.WriteString("vppConfig:\n  interfaces:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {name: if%d}\n", i*7919%n)
		}
		content := codec(t).Read("f.yaml", []byte(b.String()), "")
		if len(content.Entries) != n || len(content.Errs) > 0 {
			t.Fatalf("%d entries, expected %d; errors %v", len(content.Entries), n, content.Errs)
		}
		if !slices.IsSortedFunc(content.Entries, func(a, b kv.Entry) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("%d entries are not sorted", n)
		}
		for _, e := range content.Entries {
			var line int
			if _, err := fmt.Sscanf(e.Location.Text(e.Key), "f.yaml:%d", &line); err != nil || e.Key != fmt.Sprintf("config/vpp/v2/interfaces/if%d", (line-3)*7919%n) {
				t.Fatalf("%s is said to be in %s", e.Key, e.Location.Text(e.Key))
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("a.yaml", "vppConfig: {interfaces: [{name: a, mtu: 7, tap: {}}]}")
	f.Add("a.json", `{"data": [{"key": "config/vpp/v2/interfaces/a", "value": "{\"name\": \"a\"}"}]}`)
	f.Add("a.yaml", "x: &a {<<: *a}\nvppConfig: *a\n---\nlinuxConfig: {routes: [*b]}")
	f.Add("a.yaml", "data: [{key: config/vpp/v2/route/, value: {dst_network: 1::/64}}]")
	c := codec(f)
	f.Fuzz(func(t *testing.T, file, text string) {
		doc := c.Decode(file, []byte(text), "")
		var items []proto.Message
		for _, it := range doc.Items {
			items = append(items, it.Value)
		}
		for _, e := range doc.Errs {
			_ = e.Error()
		}
		out, err := c.Encode(items...)
		if err != nil {
			t.Fatalf("encode the decoded items: %v", err)
		}
		again := c.Decode("a.yaml", out, "")
		if len(again.Items) != len(items) || len(again.Errs) > 0 {
			t.Fatalf("%d items became %d: %v\n%s", len(items), len(again.Items), again.Errs, out)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	const n = 100_000
	c := codec(b)
	var yaml, json strings.Builder
	yaml.WriteString("vppConfig:\n  routes:\n")
	json.WriteString(`{"vppConfig": {"routes": [`)
	for i := range n {
		fmt.Fprintf(&yaml, "  - dstNetwork: 10.%d.%d.%d/32\n    nextHopAddr: 192.168.100.1\n    outgoingInterface: loop1\n    weight: 1\n", i>>16, i>>8&255, i&255)
		fmt.Fprintf(&json, "%s{\"dstNetwork\": \"10.%d.%d.%d/32\", \"nextHopAddr\": \"192.168.100.1\", \"outgoingInterface\": \"loop1\", \"weight\": 1}",
			strings.Repeat(",\n", min(i, 1)), i>>16, i>>8&255, i&255)
	}
	json.WriteString("]}}")
	for file, text := range map[string]string{"f.yaml": yaml.String(), "f.json": json.String()} {
		b.Run(file[2:], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if content := c.Read(file, []byte(text), ""); len(content.Entries) != n {
					b.Fatal(content.Errs)
				}
			}
		})
	}
}

// The predecessor wrote items without a field of their own under the name of the message.
func TestFormerFieldNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"RuleChain", "RuleChain_list", "RuleChainList"} {
		doc := codec(t).Decode("f.yaml", []byte("linuxConfig: {"+name+": [{name: c1, chainType: INPUT}]}"), "")
		if len(doc.Errs) > 0 || len(doc.Items) != 1 || doc.Items[0].Key != "config/linux/iptables/v2/rulechain/c1" {
			t.Errorf("%s: %v, %v", name, doc.Items, doc.Errs)
		}
	}
}
