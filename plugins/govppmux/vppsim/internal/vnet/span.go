package vnet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/span"
)

// spanKey says whose packets are mirrored to where, and at which layer.
type spanKey struct {
	from, to uint32
	l2       bool
}

func (n *VNet) handleSpans() {
	wire.Handle(n.server, func(_ *wire.Call, req *span.SwInterfaceSpanEnableDisable) *span.SwInterfaceSpanEnableDisableReply {
		return &span.SwInterfaceSpanEnableDisableReply{Retval: int32(n.setSpan(req))}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *span.SwInterfaceSpanDump) {
		keys := slices.SortedFunc(maps.Keys(n.spans), func(a, b spanKey) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
		})
		for _, k := range keys {
			if k.l2 == req.IsL2 {
				c.Send(&span.SwInterfaceSpanDetails{
					SwIfIndexFrom: interface_types.InterfaceIndex(k.from), SwIfIndexTo: interface_types.InterfaceIndex(k.to),
					State: n.spans[k], IsL2: k.l2,
				})
			}
		}
	})
}

// setSpan mirrors, or ends that for one destination. VPP does not ask whether the
// interfaces exist, and continues mirroring when they are deleted: the next ones
// with their indexes inherit it.
func (n *VNet) setSpan(req *span.SwInterfaceSpanEnableDisable) api.VPPApiError {
	k := spanKey{uint32(req.SwIfIndexFrom), uint32(req.SwIfIndexTo), req.IsL2}
	switch {
	case req.State > span.SPAN_STATE_API_RX_TX:
		return api.UNIMPLEMENTED
	case k.from == none, k.from == k.to, k.to == none && req.State > 0:
		return api.INVALID_INTERFACE
	case req.State == span.SPAN_STATE_API_DISABLED:
		delete(n.spans, k)
	default:
		n.spans[k] = req.State
	}
	return ok
}
