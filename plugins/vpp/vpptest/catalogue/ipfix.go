package catalogue

import (
	"go.fd.io/govpp/api"
	flowprobeapi "go.fd.io/govpp/binapi/flowprobe"
	"go.fd.io/govpp/binapi/interface_types"
	ipfixapi "go.fd.io/govpp/binapi/ipfix_export"
	"google.golang.org/protobuf/proto"

	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func ipfixExporter() Item {
	return Item{
		Name: "vpp.ipfix.ipfix",
		Make: func() proto.Message {
			return &ipfix.IPFIX{
				Collector: &ipfix.IPFIX_Collector{Address: "10.1.1.9", Port: 4739}, SourceAddress: "10.1.1.1", VrfId: 47,
				PathMtu: 512, TemplateInterval: 20,
			}
		},
		Needs:      func() []proto.Message { return []proto.Message{&l3.VrfTable{Id: 47}} },
		Capability: "IPFIX exporter",
		Spellings: []Change{To(func(x *ipfix.IPFIX) {
			x.Collector.Port, x.PathMtu, x.TemplateInterval = 0, 0, 0
		})},
		Updates: []Change{
			To(func(x *ipfix.IPFIX) { x.Collector.Address, x.Collector.Port = "10.1.1.8", 5000 }),
			To(func(x *ipfix.IPFIX) { x.VrfId, x.PathMtu, x.TemplateInterval = 0, 1450, 60 }),
		},
		Refusals: map[string]Change{
			`collector: missing, expected`:                  To(func(x *ipfix.IPFIX) { x.Collector = nil }),
			"collector.address: 0.0.0.0, expected":          To(func(x *ipfix.IPFIX) { x.Collector.Address = "0.0.0.0" }),
			`source_address: "2001:db8::1", expected an IP`: To(func(x *ipfix.IPFIX) { x.SourceAddress = "2001:db8::1" }),
			"collector.port: 65535, expected":               To(func(x *ipfix.IPFIX) { x.Collector.Port = 65535 }),
			"path_mtu: 67, expected 68 to 1450":             To(func(x *ipfix.IPFIX) { x.PathMtu = 67 }),
			"path_mtu: 1451, expected":                      To(func(x *ipfix.IPFIX) { x.PathMtu = 1451 }),
			"template_interval: 4294967295, expected":       To(func(x *ipfix.IPFIX) { x.TemplateInterval = 4294967295 }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ipfixapi.SetIpfixExporter{PathMtu: 512, TemplateInterval: 20}, &ipfixapi.SetIpfixExporterReply{}
		},
		Without: map[string]string{"Recreates": "VPP changes all of it", "Conflicts": "there is one in a VPP"},
	}
}

// FlowProbeParams are parameters for measured interfaces.
func FlowProbeParams() *ipfix.FlowProbeParams {
	return &ipfix.FlowProbeParams{ActiveTimer: 20, PassiveTimer: 60, RecordL3: true, RecordL4: true}
}

func flowProbeParams() Item {
	return Item{
		Name:       "vpp.ipfix.flowprobe-params",
		Make:       func() proto.Message { return FlowProbeParams() },
		Capability: "flow probe",
		Recreates: []Change{
			To(func(p *ipfix.FlowProbeParams) { p.ActiveTimer, p.PassiveTimer = 60, 0 }),
			To(func(p *ipfix.FlowProbeParams) { p.RecordL2, p.RecordL3 = true, false }),
		},
		Refusals: map[string]Change{
			"record_l2, record_l3, record_l4: all false": To(func(p *ipfix.FlowProbeParams) { p.RecordL3, p.RecordL4 = false, false }),
			"passive_timer: 19, expected 0 or at least":  To(func(p *ipfix.FlowProbeParams) { p.PassiveTimer = 19 }),
			"active_timer: 4294967295, expected":         To(func(p *ipfix.FlowProbeParams) { p.ActiveTimer, p.PassiveTimer = 4294967295, 0 }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &flowprobeapi.FlowprobeSetParams{ActiveTimer: 20}, &flowprobeapi.FlowprobeSetParamsReply{}
		},
		Without: map[string]string{
			"Needs": "VPP always has them", "Spellings": "numbers have none", "Updates": "measurements end before a change",
			"Conflicts": "there is one in a VPP",
		},
	}
}

func flowProbeFeature() Item {
	return Item{
		Name:       "vpp.ipfix.flowprobe-feature",
		Make:       func() proto.Message { return &ipfix.FlowProbeFeature{Interface: "lo", Ip4: true} },
		Needs:      func() []proto.Message { return []proto.Message{Base(), FlowProbeParams()} },
		Capability: "flow probe on interface",
		Recreates: []Change{
			To(func(f *ipfix.FlowProbeFeature) { f.Ip4, f.Ip6 = false, true }),
			To(func(f *ipfix.FlowProbeFeature) { f.Ip4, f.L2 = false, true }),
		},
		Refusals: map[string]Change{
			"l2, ip4, ip6: 0 of them true, expected one":   To(func(f *ipfix.FlowProbeFeature) { f.Ip4 = false }),
			"l2, ip4, ip6: 2 of them true, expected one: ": To(func(f *ipfix.FlowProbeFeature) { f.Ip6 = true }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &flowprobeapi.FlowprobeInterfaceAddDel{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*ipfix.FlowProbeFeature).Interface)),
			}, &flowprobeapi.FlowprobeInterfaceAddDelReply{}
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "VPP has no request that changes it", "Conflicts": "the interface is the key",
		},
	}
}
