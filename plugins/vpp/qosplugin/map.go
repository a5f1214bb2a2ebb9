package qosplugin

import (
	"fmt"
	"slices"

	"go.fd.io/govpp/api"
	qosapi "go.fd.io/govpp/binapi/qos"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// The names of the descriptors.
const (
	MapName    = "vpp-qos-map"
	RecordName = "vpp-qos-record"
	StoreName  = "vpp-qos-store"
	MarkName   = "vpp-qos-mark"
)

// source is the number of a source in VPP, which counts in the opposite order.
func source(s qos.Source) qosapi.QosSource { return qosapi.QosSource(qos.Source_EXT - s) }

func sourceValue(s qosapi.QosSource) qos.Source { return qos.Source_EXT - qos.Source(s) }

// header is source for what must be in a packet.
func header(r *item.Resolver, field string, s qos.Source) qosapi.QosSource {
	if r.Enum(field, s); s == qos.Source_EXT {
		r.Fail(field, "%s, expected IP, MPLS, VLAN", s)
	}
	return source(s)
}

// egressMap has the output for an input at outputs[256*source + input].
type egressMap struct {
	id      uint32
	outputs [4 * inputs]byte
}

// inputs is how many inputs a source has.
const inputs = 256

var egressMaps = item.Declare("QoS egress map", "", item.Variant[egressMap]{
	Change: func(e egressMap, add bool) (request, reply api.Message) {
		if !add {
			return &qosapi.QosEgressMapDelete{ID: e.id}, &qosapi.QosEgressMapDeleteReply{}
		}
		update := &qosapi.QosEgressMapUpdate{Map: qosapi.QosEgressMap{ID: e.id}}
		for source := range update.Map.Rows {
			update.Map.Rows[source].Outputs = slices.Clone(e.outputs[source*inputs : (source+1)*inputs])
		}
		return update, &qosapi.QosEgressMapUpdateReply{}
	},
	Dumps: []item.Dump[egressMap]{item.List(&qosapi.QosEgressMapDump{}, func(d *qosapi.QosEgressMapDetails) (egressMap, bool) {
		e := egressMap{id: d.Map.ID}
		for source, row := range d.Map.Rows {
			copy(e.outputs[source*inputs:(source+1)*inputs], row.Outputs)
		}
		return e, true
	})},
})

// NewMap describes maps.
func NewMap(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*qos.Map, egressMap, uint32]{
		Name: MapName, Model: MapModel, Operation: egressMaps,
		Resolve: resolveMap, Value: mapValue,
		ID:         func(e egressMap) uint32 { return e.id },
		Changeable: func(_, _ egressMap) bool { return true },
	})
}

func resolveMap(r *item.Resolver, v *qos.Map) egressMap {
	e := egressMap{id: v.GetId()}
	has := map[int]bool{}
	for i, t := range v.GetTranslations() {
		field := fmt.Sprintf("translations[%d].", i)
		r.Enum(field+"source", t.GetSource())
		input := r.Range(field+"input", t.GetInput(), 0, inputs-1)
		output := r.Range(field+"output", t.GetOutput(), 0, inputs-1)
		if r.Err() != nil {
			continue
		}
		at := int(source(t.GetSource()))*inputs + int(input)
		if has[at] {
			r.Fail(field+"input", "%d of %s has another output already", input, t.GetSource())
		}
		has[at], e.outputs[at] = true, byte(output)
	}
	return e
}

func mapValue(_ *item.Names, e egressMap) *qos.Map {
	v := &qos.Map{Id: e.id}
	for at, output := range e.outputs {
		if output != 0 {
			v.Translations = append(v.Translations, &qos.Map_Translation{
				Source: sourceValue(qosapi.QosSource(at / inputs)), Input: uint32(at % inputs), Output: uint32(output),
			})
		}
	}
	return v
}
