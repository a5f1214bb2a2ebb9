package vnet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/span"
)

// spanKey says whose packets are mirrored to where, and at which layer.
type spanKey struct {
	from, to uint32
	l2       bool
}

// spans are the mirrored interfaces.
type spans struct {
	*VNet
	states map[spanKey]span.SpanState
}

func newSpans(n *VNet) feature { return &spans{VNet: n} }

func (ss *spans) register(server *wire.Server) {
	handle[span.SwInterfaceSpanEnableDisableReply](server, ss.setSpan)
	wire.HandleDump(server, func(c *wire.Call, req *span.SwInterfaceSpanDump) {
		keys := slices.SortedFunc(maps.Keys(ss.states), func(a, b spanKey) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
		})
		for _, k := range keys {
			if k.l2 == req.IsL2 {
				c.Send(&span.SwInterfaceSpanDetails{
					SwIfIndexFrom: ifIndex(k.from), SwIfIndexTo: ifIndex(k.to),
					State: ss.states[k], IsL2: k.l2,
				})
			}
		}
	})
}

func (ss *spans) reset() { ss.states = make(map[spanKey]span.SpanState) }

// setSpan mirrors, or ends that for one destination. VPP does not ask whether the
// interfaces exist, and continues mirroring when they are deleted: the next ones
// with their indexes inherit it.
func (ss *spans) setSpan(req *span.SwInterfaceSpanEnableDisable) retval {
	k := spanKey{uint32(req.SwIfIndexFrom), uint32(req.SwIfIndexTo), req.IsL2}
	switch {
	case req.State > span.SPAN_STATE_API_RX_TX:
		return api.UNIMPLEMENTED
	case k.from == none, k.from == k.to, k.to == none && req.State > 0:
		return api.INVALID_INTERFACE
	case req.State == span.SPAN_STATE_API_DISABLED:
		delete(ss.states, k)
	default:
		if ss.mirrored(k.from) == 0 && k.l2 {
			ss.setLayer2(req.SwIfIndexFrom, "span", true)
		}
		ss.states[k] = req.State
	}
	if ss.mirrored(k.from) == 0 {
		ss.setLayer2(req.SwIfIndexFrom, "span", false)
	}
	return ok
}

// mirrored returns how many destinations the frames of an interface have.
func (ss *spans) mirrored(from uint32) (n int) {
	for k := range ss.states {
		if k.from == from && k.l2 {
			n++
		}
	}
	return n
}
