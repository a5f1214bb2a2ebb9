package vnet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/flowprobe"
)

// flowProbe is the plugin flowprobe: the parameters, and the measured interfaces by index, which
// it keeps when they are deleted.
type flowProbe struct {
	*VNet
	params flowprobe.FlowprobeSetParams
	on     map[uint32]flowprobe.FlowprobeInterfaceDetails
}

func newFlowProbe(n *VNet) feature { return &flowProbe{VNet: n} }

func (p *flowProbe) register(server *wire.Server) {
	handle[flowprobe.FlowprobeSetParamsReply](server, p.setParams)
	wire.Handle(server, func(*wire.Call, *flowprobe.FlowprobeGetParams) *flowprobe.FlowprobeGetParamsReply {
		return &flowprobe.FlowprobeGetParamsReply{
			RecordFlags: p.params.RecordFlags, ActiveTimer: p.params.ActiveTimer, PassiveTimer: p.params.PassiveTimer,
		}
	})
	handle[flowprobe.FlowprobeInterfaceAddDelReply](server, p.measure)
	wire.HandleDump(server, func(c *wire.Call, req *flowprobe.FlowprobeInterfaceDump) {
		for _, index := range slices.Sorted(maps.Keys(p.on)) {
			if d := p.on[index]; selects(req.SwIfIndex, index) {
				c.Send(&d)
			}
		}
	})
}

func (p *flowProbe) reset() {
	p.params = flowprobe.FlowprobeSetParams{ActiveTimer: 15, PassiveTimer: 120}
	p.on = make(map[uint32]flowprobe.FlowprobeInterfaceDetails)
}

func (p *flowProbe) setParams(req *flowprobe.FlowprobeSetParams) retval {
	switch {
	case req.PassiveTimer > 0 && req.ActiveTimer > req.PassiveTimer:
		return api.INVALID_VALUE
	case len(p.on) > 0:
		return api.UNSUPPORTED
	}
	p.params = *req
	replaceUnset(&p.params.ActiveTimer, none, 15)
	replaceUnset(&p.params.PassiveTimer, none, 120)
	return ok
}

func (p *flowProbe) measure(req *flowprobe.FlowprobeInterfaceAddDel) retval {
	index := uint32(req.SwIfIndex)
	has, on := p.on[index]
	switch {
	case p.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case req.Which > flowprobe.FLOWPROBE_WHICH_L2 || req.Direction > flowprobe.FLOWPROBE_DIRECTION_BOTH:
		return api.INVALID_VALUE
	case p.params.RecordFlags == 0:
		return api.CANNOT_ENABLE_DISABLE_FEATURE
	case on && (req.IsAdd || has.Which != req.Which):
		return api.ENTRY_ALREADY_EXISTS
	case !on && !req.IsAdd:
		return api.NO_SUCH_ENTRY
	case req.IsAdd:
		p.on[index] = flowprobe.FlowprobeInterfaceDetails{Which: req.Which, Direction: req.Direction, SwIfIndex: req.SwIfIndex}
	default:
		delete(p.on, index)
	}
	return ok
}

func (p *flowProbe) dump(b *strings.Builder) {
	var lines []string
	if p.params.RecordFlags != 0 {
		lines = append(lines, fmt.Sprintf("flowprobe %v active %d passive %d\n", p.params.RecordFlags, p.params.ActiveTimer, p.params.PassiveTimer))
	}
	for index, d := range p.on {
		lines = append(lines, fmt.Sprintf("flowprobe %v %v on %s\n", d.Which, d.Direction, p.orStaleIf(index)))
	}
	dumpSorted(b, lines)
}
