package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	qosapi "go.fd.io/govpp/binapi/qos"
	"google.golang.org/protobuf/proto"

	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// qosItems are what reads, translates and writes QoS bits.
// egressMap translates two inputs.
func egressMap(id uint32) *qos.Map {
	return &qos.Map{Id: id, Translations: []*qos.Map_Translation{
		{Source: qos.Source_VLAN, Input: 5, Output: 184}, {Source: qos.Source_IP, Input: 184, Output: 5},
	}}
}

func qosMap() Item {
	return Item{
		Name:       "vpp.qos.map",
		Make:       func() proto.Message { return egressMap(9) },
		Capability: "QoS egress map",
		Spellings: []Change{To(func(m *qos.Map) {
			m.Translations = append(m.Translations[1:], m.Translations[0], &qos.Map_Translation{Input: 1})
		})},
		Updates: []Change{To(func(m *qos.Map) { m.Translations[0].Output = 7 }), To(func(m *qos.Map) { m.Translations = nil })},
		Refusals: map[string]Change{
			"id: 4294967295, expected":                    To(func(m *qos.Map) { m.Id = 4294967295 }),
			"translations[0].input: 256, expected":        To(func(m *qos.Map) { m.Translations[0].Input = 256 }),
			"translations[1].output: 256, expected":       To(func(m *qos.Map) { m.Translations[1].Output = 256 }),
			"translations[1].source: 4, expected IP, MPL": To(func(m *qos.Map) { m.Translations[1].Source = 4 }),
			"translations[2].input: 184 of IP has another": To(func(m *qos.Map) {
				m.Translations = append(m.Translations, &qos.Map_Translation{Input: 184, Output: 1})
			}),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &qosapi.QosEgressMapDelete{ID: m.(*qos.Map).Id}, &qosapi.QosEgressMapDeleteReply{}
		},
		Without: map[string]string{
			"Needs": "a map needs no interface", "Recreates": "VPP changes all but the key", "Conflicts": "the number is the key",
		},
	}
}

func qosRecord() Item {
	return Item{
		Name:       "vpp.qos.record",
		Make:       func() proto.Message { return &qos.Record{Interface: "lo", Source: qos.Source_VLAN} },
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "QoS record",
		Refusals: map[string]Change{
			"source: EXT, expected IP, MPLS, VLAN": To(func(r *qos.Record) { r.Source = qos.Source_EXT }),
			"source: 4, expected":                  To(func(r *qos.Record) { r.Source = 4 }),
			"interface: empty":                     To(func(r *qos.Record) { r.Interface = "" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &qosapi.QosRecordEnableDisable{Record: qosapi.QosRecord{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*qos.Record).Interface)), InputSource: qosapi.QOS_API_SOURCE_VLAN,
			}}, &qosapi.QosRecordEnableDisableReply{}
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "all of it is the key", "Recreates": "all of it is the key", "Conflicts": "all of it is the key",
		},
	}
}

func qosStore() Item {
	return Item{
		Name:       "vpp.qos.store",
		Make:       func() proto.Message { return &qos.Store{Interface: "lo", Value: 184} },
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "QoS store",
		Recreates:  []Change{To(func(s *qos.Store) { s.Value = 0 })},
		Refusals: map[string]Change{
			"value: 256, expected 0 to 255": To(func(s *qos.Store) { s.Value = 256 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &qosapi.QosStoreEnableDisable{Store: qosapi.QosStore{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*qos.Store).Interface)), InputSource: qosapi.QOS_API_SOURCE_IP,
			}}, &qosapi.QosStoreEnableDisableReply{}
		},
		Without: map[string]string{
			"Spellings": "numbers have none", "Updates": "VPP keeps the first value", "Conflicts": "the interface is the key",
		},
	}
}

func qosMark() Item {
	return Item{
		Name:       "vpp.qos.mark",
		Make:       func() proto.Message { return &qos.Mark{Interface: "lo", Output: qos.Source_VLAN, Map: 3} },
		Needs:      func() []proto.Message { return []proto.Message{Base(), egressMap(3)} },
		Capability: "QoS mark",
		Refusals: map[string]Change{
			"output: EXT, expected IP, MPLS, VLAN": To(func(m *qos.Mark) { m.Output = qos.Source_EXT }),
			"output: 4, expected":                  To(func(m *qos.Mark) { m.Output = 4 }),
			"interface: empty":                     To(func(m *qos.Mark) { m.Interface = "" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &qosapi.QosMarkEnableDisable{Mark: qosapi.QosMark{
				SwIfIndex: index(m.(*qos.Mark).Interface), OutputSource: qosapi.QOS_API_SOURCE_VLAN,
			}}, &qosapi.QosMarkEnableDisableReply{}
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "it has only the number of another map besides the key: TestQoS",
			"Recreates": "VPP changes all but the key", "Conflicts": "interface and output are the key",
		},
	}
}
