package qosplugin

import (
	"math"
	"strconv"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	qosapi "go.fd.io/govpp/binapi/qos"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// gone are the answers of VPP to the end of what is not enabled.
func gone() []api.VPPApiError {
	return []api.VPPApiError{api.NO_MATCHING_INTERFACE, api.VALUE_EXIST}
}

type record = qosapi.QosRecord

var records = item.Declare("QoS record", "", item.Variant[record]{
	Change: func(e record, add bool) (request, reply api.Message) {
		return &qosapi.QosRecordEnableDisable{Enable: add, Record: e}, &qosapi.QosRecordEnableDisableReply{}
	},
	Dumps: []item.Dump[record]{item.List(&qosapi.QosRecordDump{},
		func(d *qosapi.QosRecordDetails) (record, bool) { return d.Record, true })},
})

// NewRecord describes where QoS bits are read.
func NewRecord(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*qos.Record, record, record]{
		Name: RecordName, Model: RecordModel, Operation: records,
		Resolve: func(r *item.Resolver, v *qos.Record) record {
			return record{SwIfIndex: r.Interface("interface", v.GetInterface()), InputSource: header(r, "source", v.GetSource())}
		},
		Layer2: func(e record) (uint32, bool) {
			return uint32(e.SwIfIndex), e.InputSource == qosapi.QOS_API_SOURCE_IP
		},
		ID: func(e record) record { return e },
		Value: func(n *item.Names, e record) *qos.Record {
			return &qos.Record{Interface: n.Interface(e.SwIfIndex), Source: sourceValue(e.InputSource)}
		},
		Gone: gone(),
	})
}

type store = qosapi.QosStore

var stores = item.Declare("QoS store", "", item.Variant[store]{
	Change: func(e store, add bool) (request, reply api.Message) {
		return &qosapi.QosStoreEnableDisable{Enable: add, Store: e}, &qosapi.QosStoreEnableDisableReply{}
	},
	Dumps: []item.Dump[store]{item.List(&qosapi.QosStoreDump{},
		func(d *qosapi.QosStoreDetails) (store, bool) { return d.Store, true })},
})

// NewStore describes values of packets. VPP has them for IP alone.
func NewStore(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*qos.Store, store, store]{
		Name: StoreName, Model: StoreModel, Operation: stores,
		Resolve: func(r *item.Resolver, v *qos.Store) store {
			return store{
				SwIfIndex: r.Interface("interface", v.GetInterface()), InputSource: qosapi.QOS_API_SOURCE_IP,
				Value: uint8(v.GetValue()),
			}
		},
		ID: func(e store) store { return store{SwIfIndex: e.SwIfIndex, InputSource: e.InputSource} },
		Value: func(n *item.Names, e store) *qos.Store {
			return &qos.Store{Interface: n.Interface(e.SwIfIndex), Value: uint32(e.Value)}
		},
		Gone: gone(),
	})
}

type mark = qosapi.QosMark

func changeMark(e mark, add bool) (request, reply api.Message) {
	return &qosapi.QosMarkEnableDisable{Enable: add, Mark: e}, &qosapi.QosMarkEnableDisableReply{}
}

var marks = item.Declare("QoS mark", "", item.Variant[mark]{
	Change: changeMark,
	// VPP keeps the mark of a deleted interface, and takes one for no change of the next interface
	// with the index.
	Reset: func(e mark) (requests, replies []api.Message) {
		request, reply := changeMark(e, false)
		return []api.Message{request}, []api.Message{reply}
	},
	Dumps: []item.Dump[mark]{item.List(&qosapi.QosMarkDump{SwIfIndex: math.MaxUint32},
		func(d *qosapi.QosMarkDetails) (mark, bool) { return d.Mark, true })},
})

// NewMark describes where QoS bits are written.
func NewMark(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*qos.Mark, mark, mark]{
		Name: MarkName, Model: MarkModel, Operation: marks,
		Resolve: func(r *item.Resolver, v *qos.Mark) mark {
			r.DependsOn("qos-map-exists", MapModel.KeyFor(strconv.FormatUint(uint64(v.GetMap()), 10)))
			return mark{
				SwIfIndex: uint32(r.Interface("interface", v.GetInterface())), OutputSource: header(r, "output", v.GetOutput()), MapID: v.GetMap(),
			}
		},
		ID: func(e mark) mark { return mark{SwIfIndex: e.SwIfIndex, OutputSource: e.OutputSource} },
		Value: func(n *item.Names, e mark) *qos.Mark {
			return &qos.Mark{Interface: n.Interface(interface_types.InterfaceIndex(e.SwIfIndex)), Output: sourceValue(e.OutputSource), Map: e.MapID}
		},
		Changeable: func(_, _ mark) bool { return true },
		Gone:       gone(),
	})
}
