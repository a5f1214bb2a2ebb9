package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/span"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// mirroring is the request that mirrors one interface to another one.
type mirroring = span.SwInterfaceSpanEnableDisable

var mirrorings = item.Declare("SPAN", "", item.Variant[mirroring]{
	Change: func(m mirroring, add bool) (request, reply api.Message) {
		if !add {
			m.State = span.SPAN_STATE_API_DISABLED
		}
		return &m, &span.SwInterfaceSpanEnableDisableReply{}
	},
	Dumps: []item.Dump[mirroring]{dumpMirrorings(false), dumpMirrorings(true)},
})

func dumpMirrorings(l2 bool) item.Dump[mirroring] {
	return item.List(&span.SwInterfaceSpanDump{IsL2: l2}, func(d *span.SwInterfaceSpanDetails) (mirroring, bool) {
		return mirroring(*d), true
	})
}

// spanStates are the directions as VPP has them.
var spanStates = map[interfaces.Span_Direction]span.SpanState{
	interfaces.Span_RX: span.SPAN_STATE_API_RX, interfaces.Span_TX: span.SPAN_STATE_API_TX, interfaces.Span_BOTH: span.SPAN_STATE_API_RX_TX,
}

// NewSpan describes the mirroring of interfaces. SPAN mirrors the packets of one interface to
// another one, where they enter and leave VPP or where frames are switched. The key has the two
// interfaces alone, so only one of the two places can be configured for a pair. VPP continues when
// an interface is deleted, for whatever gets its index: mirroring ends before.
func NewSpan(vpp *session.VPP, ifs index) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*interfaces.Span, mirroring, mirroring]{
		Name: SpanName, Model: model.SpanModel, Operation: mirrorings,
		Resolve: func(r *item.Resolver, s *interfaces.Span) mirroring {
			from, to := s.GetInterfaceFrom(), s.GetInterfaceTo()
			if to == from {
				r.Fail("interface_to", "%q is the mirrored interface itself", to)
			}
			state, ok := spanStates[s.GetDirection()]
			if !ok {
				r.Fail("direction", "%s, expected RX, TX or BOTH", s.GetDirection())
			}
			r.DependsOn("interface-from", model.InterfaceModel.KeyFor(from))
			r.DependsOn("interface-to", model.InterfaceModel.KeyFor(to))
			return mirroring{SwIfIndexFrom: r.SwIfIndex(from), SwIfIndexTo: r.SwIfIndex(to), State: state, IsL2: s.GetIsL2()}
		},
		Layer2: func(m mirroring) (uint32, bool) { return uint32(m.SwIfIndexFrom), m.IsL2 },
		ID: func(m mirroring) mirroring {
			m.State = span.SPAN_STATE_API_DISABLED
			return m
		},
		Value: func(n *item.Names, m mirroring) *interfaces.Span {
			v := &interfaces.Span{InterfaceFrom: n.Interface(m.SwIfIndexFrom), InterfaceTo: n.Interface(m.SwIfIndexTo), IsL2: m.IsL2}
			for direction, state := range spanStates {
				if state == m.State {
					v.Direction = direction
				}
			}
			return v
		},
	})
}
