package models_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/proto/ligato"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	mpls "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// violations returns a line for each violation.
func violations(m proto.Message) string {
	var lines []string
	r := m.ProtoReflect()
	for _, v := range models.AnnotationsOf(r.Descriptor()).Violations(r) {
		lines = append(lines, v.Field+": "+v.Err.Error())
	}
	return strings.Join(lines, "\n")
}

func TestViolations(t *testing.T) {
	t.Parallel()
	tcp := func(r *acl.ACL_Rule_IpRule_PortRange) *acl.ACL {
		return &acl.ACL{Rules: []*acl.ACL_Rule{{}, {IpRule: &acl.ACL_Rule_IpRule{Tcp: &acl.ACL_Rule_IpRule_Tcp{SourcePortRange: r}}}}}
	}
	for _, c := range []struct {
		m    proto.Message
		want string
	}{
		{&l3.TeibEntry{PeerAddr: "10.0.0.1", NextHopAddr: "2001:db8::1"}, ""},
		{&l3.TeibEntry{PeerAddr: "", NextHopAddr: "::ffff:10.0.0.1"}, ""},
		{&l3.TeibEntry{PeerAddr: "x", NextHopAddr: "fe80::1%eth0"}, "peer_addr: \"x\": expected an IP address\nnext_hop_addr: \"fe80::1%eth0\": expected an IP address"},
		{&l3.TeibEntry{PeerAddr: "10.0.0.1/24"}, `peer_addr: "10.0.0.1/24": expected an IP address`},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{{}, {FirstIpAddr: "x", LastIpAddr: "y"}}}, "ranges[1].first_ip_addr: \"x\", expected an IPv4 address\nranges[1].last_ip_addr: \"y\", expected an IPv4 address"},
		{&l3.ProxyARP{Ranges: []*l3.ProxyARP_Range{{FirstIpAddr: "2001:db8::1", LastIpAddr: "::ffff:10.0.0.1"}}}, `ranges[0].first_ip_addr: "2001:db8::1", expected an IPv4 address`},
		{&wireguard.Peer{AllowedIps: []string{"10.0.0.0/8", "10.0.0.1", ""}}, "allowed_ips[1]: \"10.0.0.1\": expected an IP address with prefix length\nallowed_ips[2]: \"\": expected an IP address with prefix length"},
		{tcp(&acl.ACL_Rule_IpRule_PortRange{LowerPort: 65535}), ""},
		{tcp(&acl.ACL_Rule_IpRule_PortRange{UpperPort: 65536}), "rules[1].ip_rule.tcp.source_port_range.upper_port: 65536, expected 0 to 65535"},
		{&l3.VRRPEntry{VrId: 1, Priority: 256}, "priority: 256, expected 1 to 255\ninterval: 0, expected 10 to 65535"},
		{&mpls.Route{Label: 16, Paths: []*mpls.Route_Path{nil, {NextHopAddr: "10.0.0.1"}}}, ""},
		{&interfaces.Interface{Link: &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{SrcAddress: "x"}}}, `vxlan.src_address: "x": expected an IP address`},
		{&interfaces.Interface{Link: &interfaces.Interface_Vxlan{}}, ""},
		{(*l3.TeibEntry)(nil), ""},
	} {
		if got := violations(c.m); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.m, got, c.want)
		}
	}
}

// customType returns a message type with all kinds of annotated fields, which contains itself.
func customType(t *testing.T) protoreflect.MessageType {
	t.Helper()
	field := func(number int32, name string, typ descriptorpb.FieldDescriptorProto_Type, o *ligato.LigatoOptions) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(number), Type: typ.Enum(), Options: &descriptorpb.FieldOptions{},
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if o != nil {
			proto.SetExtension(f.Options, ligato.E_LigatoOptions, o)
		}
		return f
	}
	limits := func(low int64, high uint64) *ligato.LigatoOptions {
		return &ligato.LigatoOptions{IntRange: &ligato.LigatoOptions_IntRange{Minimum: low, Maximum: high}}
	}
	address := func(typ ligato.LigatoOptions_Type) *ligato.LigatoOptions { return &ligato.LigatoOptions{Type: typ} }
	const text, number, message = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_SINT64, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	fields := []*descriptorpb.FieldDescriptorProto{
		field(1, "signed", number, limits(-5, 5)), field(2, "maybe", number, limits(1, 5)), field(3, "lenient", number, limits(1, 5)),
		field(4, "v4", text, address(ligato.LigatoOptions_IPV4_WITH_MASK)), field(5, "v6", text, address(ligato.LigatoOptions_IPV6_OPTIONAL_MASK)),
		field(6, "others", message, nil), field(7, "next", message, nil), field(8, "one", number, limits(1, 5)), field(9, "other", number, nil),
		field(10, "least", number, limits(1, 0)), field(11, "negative", number, limits(-5, 0)),
	}
	proto.SetExtension(fields[2].Options, ligato.E_Lenient, true)
	fields[1].Proto3Optional, fields[1].OneofIndex = proto.Bool(true), proto.Int32(1)
	fields[5].Label, fields[5].TypeName = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), proto.String(".custom.Item.OthersEntry")
	fields[6].TypeName = proto.String(".custom.Item")
	fields[7].OneofIndex, fields[8].OneofIndex, fields[9].OneofIndex = proto.Int32(0), proto.Int32(0), proto.Int32(0)
	value := field(2, "value", message, nil)
	value.TypeName = proto.String(".custom.Item")
	d, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("custom.proto"), Package: proto.String("custom"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Item"), Field: fields,
			OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}, {Name: proto.String("_maybe")}},
			NestedType: []*descriptorpb.DescriptorProto{{
				Name: proto.String("OthersEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
				Field: []*descriptorpb.FieldDescriptorProto{field(1, "key", text, nil), value},
			}},
		}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessageType(d.Messages().Get(0))
}

func TestViolationsOfCustomTypes(t *testing.T) {
	t.Parallel()
	typ := customType(t)
	for text, want := range map[string]string{
		`{}`:                                  "",
		`{"signed": "-5"}`:                    "",
		`{"signed": "-6"}`:                    "signed: -6, expected -5 to 5",
		`{"signed": "6"}`:                     "signed: 6, expected -5 to 5",
		`{"maybe": "0"}`:                      "maybe: 0, expected 1 to 5",
		`{"lenient": "7"}`:                    "",
		`{"v4": "10.0.0.1/8"}`:                "",
		`{"v4": "10.0.0.1"}`:                  `v4: "10.0.0.1", expected an IPv4 address with prefix length`,
		`{"v4": "2001:db8::1/8"}`:             `v4: "2001:db8::1/8", expected an IPv4 address with prefix length`,
		`{"v6": "2001:db8::1"}`:               "",
		`{"v6": "2001:db8::1/64"}`:            "",
		`{"v6": "::ffff:10.0.0.1"}`:           `v6: "::ffff:10.0.0.1", expected an IPv6 address, with or without prefix length`,
		`{"one": "6"}`:                        "one: 6, expected 1 to 5",
		`{"other": "6"}`:                      "",
		`{"least": "9223372036854775807"}`:    "",
		`{"least": "-1"}`:                     "least: -1, expected 1 to 9223372036854775807",
		`{"negative": "1"}`:                   "negative: 1, expected -5 to 0",
		`{"next": {"next": {"signed": "6"}}}`: "next.next.signed: 6, expected -5 to 5",
		`{"others": {"a": {"one": "0"}}}`:     "others[a].one: 0, expected 1 to 5",
	} {
		m := typ.New().Interface()
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		if got := violations(m); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

func benchmarkRoute() *l3.Route {
	return &l3.Route{VrfId: 1, DstNetwork: "10.0.0.0/24", NextHopAddr: "10.0.1.1", OutgoingInterface: "loop1", Weight: 1}
}

// The check of a valid value needs no memory, except for a list of addresses.
func TestAllocationsOfChecks(t *testing.T) {
	if n := allocations(benchmarkRoute()); n > 0 {
		t.Errorf("%v allocations for a route, expected none", n)
	}
	a := &acl.ACL{}
	for i := range 100 {
		a.Rules = append(a.Rules, &acl.ACL_Rule{IpRule: &acl.ACL_Rule_IpRule{Ip: &acl.ACL_Rule_IpRule_Ip{
			SourceNetwork: fmt.Sprintf("10.0.%d.0/24", i), Protocol: 6,
		}}})
	}
	if n := allocations(a); n > 1 {
		t.Errorf("%v allocations for 100 rules, expected one for the list", n)
	}
}

func allocations(m proto.Message) float64 {
	r := m.ProtoReflect()
	annotations := models.AnnotationsOf(r.Descriptor())
	return testing.AllocsPerRun(100, func() { annotations.Violations(r) })
}

func BenchmarkViolations(b *testing.B) {
	m := benchmarkRoute().ProtoReflect()
	a := models.AnnotationsOf(m.Descriptor())
	b.ReportAllocs()
	for b.Loop() {
		if len(a.Violations(m)) > 0 {
			b.Fatal("the route is invalid")
		}
	}
}
