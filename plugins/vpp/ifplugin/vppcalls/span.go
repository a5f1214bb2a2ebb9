package vppcalls

import (
	"context"

	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/span"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var mirror = session.Require(&Operations, "SPAN", "",
	(*span.SwInterfaceSpanEnableDisable)(nil), (*span.SwInterfaceSpanEnableDisableReply)(nil))

// Span is the mirroring of the packets of one interface to another one.
type Span struct {
	// From and To are indexes of interfaces.
	From, To uint32
	// Rx and Tx tell which packets are mirrored.
	Rx, Tx bool
	// L2: where frames are switched, else where they enter and leave VPP.
	L2 bool
}

// SetSpan mirrors, in the directions that are set; without any it ends.
func (c *Calls) SetSpan(ctx context.Context, s Span) error {
	state := span.SPAN_STATE_API_DISABLED
	if s.Rx {
		state |= span.SPAN_STATE_API_RX
	}
	if s.Tx {
		state |= span.SPAN_STATE_API_TX
	}
	return c.call(ctx, mirror, &span.SwInterfaceSpanEnableDisable{
		SwIfIndexFrom: interface_types.InterfaceIndex(s.From), SwIfIndexTo: interface_types.InterfaceIndex(s.To),
		State: state, IsL2: s.L2,
	}, &span.SwInterfaceSpanEnableDisableReply{})
}

// DumpSpans returns all that is mirrored.
func (c *Calls) DumpSpans(ctx context.Context) ([]Span, error) {
	var out []Span
	for _, l2 := range []bool{false, true} {
		found, err := session.Dump[*span.SwInterfaceSpanDetails](ctx, c.vpp, &span.SwInterfaceSpanDump{IsL2: l2})
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			out = append(out, Span{
				From: uint32(d.SwIfIndexFrom), To: uint32(d.SwIfIndexTo), L2: d.IsL2,
				Rx: d.State&span.SPAN_STATE_API_RX != 0, Tx: d.State&span.SPAN_STATE_API_TX != 0,
			})
		}
	}
	return out, nil
}
