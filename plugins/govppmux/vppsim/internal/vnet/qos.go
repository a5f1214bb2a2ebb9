package vnet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	qosapi "go.fd.io/govpp/binapi/qos"
)

// qosID is a place of QoS bits of packets through an interface.
type qosID struct {
	source qosapi.QosSource
	index  uint32
}

// qosStore is a value, and how often it was enabled.
type qosStore struct {
	value uint8
	count int
}

// qos is where QoS bits are read, stored and written (src/vnet/qos). Marks are kept for interfaces
// that are deleted.
type qos struct {
	*VNet
	maps    map[uint32]qosapi.QosEgressMap
	records map[qosID]int // how often
	stores  map[qosID]qosStore
	marks   map[qosID]uint32 // by map
	known   map[string]map[qosapi.QosSource]uint32
}

func newQos(n *VNet) feature { return &qos{VNet: n} }

func (q *qos) register(server *wire.Server) {
	handle[qosapi.QosEgressMapUpdateReply](server, func(req *qosapi.QosEgressMapUpdate) retval {
		m := req.Map
		for i := range m.Rows {
			m.Rows[i].Outputs = slices.Clone(m.Rows[i].Outputs)
		}
		q.maps[m.ID] = m
		return ok
	})
	handle[qosapi.QosEgressMapDeleteReply](server, func(req *qosapi.QosEgressMapDelete) retval {
		delete(q.maps, req.ID)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, _ *qosapi.QosEgressMapDump) {
		for _, id := range slices.Sorted(maps.Keys(q.maps)) {
			c.Send(&qosapi.QosEgressMapDetails{Map: q.maps[id]})
		}
	})
	handle[qosapi.QosRecordEnableDisableReply](server, q.record)
	wire.HandleDump(server, func(c *wire.Call, _ *qosapi.QosRecordDump) {
		for _, id := range sortedQoS(q.records) {
			c.Send(&qosapi.QosRecordDetails{Record: qosapi.QosRecord{SwIfIndex: ifIndex(id.index), InputSource: id.source}})
		}
	})
	handle[qosapi.QosStoreEnableDisableReply](server, q.store)
	wire.HandleDump(server, func(c *wire.Call, _ *qosapi.QosStoreDump) {
		for _, id := range sortedQoS(q.stores) {
			c.Send(&qosapi.QosStoreDetails{Store: qosapi.QosStore{
				SwIfIndex: ifIndex(id.index), InputSource: id.source, Value: q.stores[id].value,
			}})
		}
	})
	handle[qosapi.QosMarkEnableDisableReply](server, q.mark)
	wire.HandleDump(server, func(c *wire.Call, _ *qosapi.QosMarkDump) {
		for _, id := range sortedQoS(q.marks) {
			mapID := q.marks[id]
			if _, has := q.maps[mapID]; !has {
				mapID = none
			}
			c.Send(&qosapi.QosMarkDetails{Mark: qosapi.QosMark{SwIfIndex: id.index, OutputSource: id.source, MapID: mapID}})
		}
	})
}

func (q *qos) reset() {
	q.maps, q.records = make(map[uint32]qosapi.QosEgressMap), make(map[qosID]int)
	q.stores, q.marks = make(map[qosID]qosStore), make(map[qosID]uint32)
	q.known = map[string]map[qosapi.QosSource]uint32{"record": {}, "store": {}, "mark": {}}
}

func sortedQoS[V any](m map[qosID]V) []qosID {
	return slices.SortedFunc(maps.Keys(m), func(a, b qosID) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.index, b.index))
	})
}

// grow makes the table of an operation as long as VPP's, which is the reason that a removal fails
// for.
func (q *qos) grow(table string, id qosID) {
	q.known[table][id.source] = max(q.known[table][id.source], id.index+1)
}

func (q *qos) notThere(table string, id qosID) retval {
	if id.index >= q.known[table][id.source] {
		return api.NO_MATCHING_INTERFACE
	}
	return api.VALUE_EXIST
}

func (q *qos) record(req *qosapi.QosRecordEnableDisable) retval {
	id := qosID{req.Record.InputSource, uint32(req.Record.SwIfIndex)}
	switch {
	case q.byIndex(req.Record.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case id.source > qosapi.QOS_API_SOURCE_IP:
		return api.INVALID_VALUE
	case req.Enable:
		q.grow("record", id)
		if q.records[id] == 0 && id.source == qosapi.QOS_API_SOURCE_IP {
			q.setLayer2(req.Record.SwIfIndex, "qos-record", true)
		}
		q.records[id]++
	case q.records[id] == 0:
		return q.notThere("record", id)
	case q.records[id] > 1:
		q.records[id]--
	default:
		delete(q.records, id)
		if id.source == qosapi.QOS_API_SOURCE_IP {
			q.setLayer2(req.Record.SwIfIndex, "qos-record", false)
		}
	}
	return ok
}

// store keeps the first value until it is disabled as often as it was enabled.
func (q *qos) store(req *qosapi.QosStoreEnableDisable) retval {
	id := qosID{req.Store.InputSource, uint32(req.Store.SwIfIndex)}
	has := q.stores[id]
	switch {
	case q.byIndex(req.Store.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case id.source > qosapi.QOS_API_SOURCE_IP:
		return api.INVALID_VALUE
	case req.Enable && id.source != qosapi.QOS_API_SOURCE_IP:
		return api.UNIMPLEMENTED
	case req.Enable && has.count > 0:
		q.stores[id] = qosStore{has.value, has.count + 1}
	case req.Enable:
		q.grow("store", id)
		q.stores[id] = qosStore{req.Store.Value, 1}
	case has.count == 0:
		return q.notThere("store", id)
	case has.count > 1:
		q.stores[id] = qosStore{has.value, has.count - 1}
	default:
		delete(q.stores, id)
	}
	return ok
}

// mark does not look whether the interface exists.
func (q *qos) mark(req *qosapi.QosMarkEnableDisable) retval {
	id := qosID{req.Mark.OutputSource, req.Mark.SwIfIndex}
	if id.source > qosapi.QOS_API_SOURCE_IP {
		return api.INVALID_VALUE
	}
	_, marked := q.marks[id]
	if !req.Enable {
		if !marked {
			return q.notThere("mark", id)
		}
		delete(q.marks, id)
		q.node(id, false)
		return ok
	}
	q.grow("mark", id)
	if _, has := q.maps[req.Mark.MapID]; !has {
		return api.NO_SUCH_TABLE
	}
	if !marked {
		q.node(id, true)
	}
	q.marks[id] = req.Mark.MapID
	return ok
}

// node puts one of the nodes that mark packets into the path of an interface.
func (q *qos) node(id qosID, on bool) {
	node := map[qosapi.QosSource]arcFeature{
		qosapi.QOS_API_SOURCE_IP:   {"ip4-output", "ip4-qos-mark"},
		qosapi.QOS_API_SOURCE_MPLS: {"mpls-output", "mpls-qos-mark"},
		qosapi.QOS_API_SOURCE_VLAN: {"ip4-output", "vlan-ip4-qos-mark"},
	}[id.source]
	q.arcs.set(id.index, node, on)
}

func (q *qos) interfaceRemoved(i *swInterface) {
	for source := range qosapi.QOS_API_SOURCE_IP + 1 {
		delete(q.records, qosID{source, i.index})
		delete(q.stores, qosID{source, i.index})
	}
}

func (q *qos) dump(b *strings.Builder) {
	var lines []string
	for id, m := range q.maps {
		lines = append(lines, fmt.Sprintf("qos map %d %x\n", id, m.Rows))
	}
	for id, n := range q.records {
		lines = append(lines, fmt.Sprintf("qos record %v %d times on %s\n", id.source, n, q.orStaleIf(id.index)))
	}
	for id, s := range q.stores {
		lines = append(lines, fmt.Sprintf("qos store %v %d %d times on %s\n", id.source, s.value, s.count, q.orStaleIf(id.index)))
	}
	for id, m := range q.marks {
		lines = append(lines, fmt.Sprintf("qos mark %v map %d on %s\n", id.source, m, q.orStaleIf(id.index)))
	}
	dumpSorted(b, lines)
}
