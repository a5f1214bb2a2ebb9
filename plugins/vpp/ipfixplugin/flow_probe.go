package ipfixplugin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/flowprobe"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
)

var probes = session.Require("flow probe", "flowprobe", &flowprobe.FlowprobeSetParams{}, &flowprobe.FlowprobeSetParamsReply{},
	&flowprobe.FlowprobeGetParams{}, &flowprobe.FlowprobeGetParamsReply{})

// The timers of a VPP that has just started, in seconds.
const (
	startActive  = 15
	startPassive = 120
)

type params = flowprobe.FlowprobeSetParams

// NewFlowProbeParams describes the parameters of the flow probe. VPP refuses to change them while
// an interface is measured. Measured interfaces depend on them, so a change ends all
// measurements, changes the parameters, and starts the measurements again. If VPP refuses the
// new parameters, the measurements wait for parameters that it accepts.
//
// VPP makes its tables when the first interface is measured, others with an active timer than
// without, and never again: it crashes at the next packet if the timer is then switched on
// or off. No message reports whether VPP has the tables. Deleted parameters leave their active
// timer in VPP, so the agent refuses parameters that would switch it on or off.
func NewFlowProbeParams(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSingleton(vpp, item.Singleton[*ipfix.FlowProbeParams, params]{
		Name: FlowProbeParamsName, Model: FlowProbeParamsModel,
		Recreate: func(_, _ params) bool { return true },
		Resolve:  resolveParams,
		Value: func(e params) *ipfix.FlowProbeParams {
			return &ipfix.FlowProbeParams{
				ActiveTimer: e.ActiveTimer, PassiveTimer: e.PassiveTimer, RecordL2: e.RecordFlags&flowprobe.FLOWPROBE_RECORD_FLAG_L2 != 0,
				RecordL3: e.RecordFlags&flowprobe.FLOWPROBE_RECORD_FLAG_L3 != 0, RecordL4: e.RecordFlags&flowprobe.FLOWPROBE_RECORD_FLAG_L4 != 0,
			}
		},
		Set: func(ctx context.Context, old, e *params) error {
			if e == nil {
				e = &params{ActiveTimer: old.ActiveTimer}
			} else if has, err := getParams(ctx, vpp); err != nil {
				return err
			} else if err := canSwitch(has, e); err != nil {
				return err
			}
			err := vpp.Call(ctx, e, &flowprobe.FlowprobeSetParamsReply{})
			if errors.Is(err, api.UNSUPPORTED) {
				return fmt.Errorf("VPP measures an interface that this agent does not know, and changes no parameters until that ends: %w", err)
			}
			return err
		},
		Get: func(ctx context.Context) (*params, error) {
			has, err := getParams(ctx, vpp)
			if err != nil || has.RecordFlags == 0 {
				return nil, err
			}
			return has, nil
		},
	})
}

func resolveParams(r *item.Resolver, v *ipfix.FlowProbeParams) params {
	e := params{ActiveTimer: v.GetActiveTimer(), PassiveTimer: v.GetPassiveTimer()}
	if e.PassiveTimer > 0 && e.PassiveTimer < e.ActiveTimer {
		r.Fail("passive_timer", "%d, expected 0 or at least active_timer, %d", e.PassiveTimer, e.ActiveTimer)
	}
	for flag, record := range map[flowprobe.FlowprobeRecordFlags]bool{
		flowprobe.FLOWPROBE_RECORD_FLAG_L2: v.GetRecordL2(), flowprobe.FLOWPROBE_RECORD_FLAG_L3: v.GetRecordL3(),
		flowprobe.FLOWPROBE_RECORD_FLAG_L4: v.GetRecordL4(),
	} {
		if record {
			e.RecordFlags |= flag
		}
	}
	if e.RecordFlags == 0 {
		r.Fail("record_l2, record_l3, record_l4", "all false, expected at least one true")
	}
	return e
}

func getParams(ctx context.Context, vpp *session.VPP) (*params, error) {
	if err := probes.Check(vpp); err != nil {
		return nil, err
	}
	reply := &flowprobe.FlowprobeGetParamsReply{}
	err := vpp.Call(ctx, &flowprobe.FlowprobeGetParams{}, reply)
	return &params{RecordFlags: reply.RecordFlags, ActiveTimer: reply.ActiveTimer, PassiveTimer: reply.PassiveTimer}, err
}

// canSwitch refuses what would crash VPP.
func canSwitch(has, e *params) error {
	started := *has == params{ActiveTimer: startActive, PassiveTimer: startPassive}
	if started || (has.ActiveTimer == 0) == (e.ActiveTimer == 0) {
		return nil
	}
	return kvs.Permanent(fmt.Errorf("active_timer: %d, VPP had %d: VPP crashes if the timer is switched on or off after an interface was measured; restart VPP",
		e.ActiveTimer, has.ActiveTimer))
}

type feature = flowprobe.FlowprobeInterfaceDetails

var features = item.Declare("flow probe on interface", "flowprobe", item.Variant[feature]{
	Change: func(e feature, add bool) (request, reply api.Message) {
		return &flowprobe.FlowprobeInterfaceAddDel{IsAdd: add, Which: e.Which, Direction: e.Direction, SwIfIndex: e.SwIfIndex},
			&flowprobe.FlowprobeInterfaceAddDelReply{}
	},
	Dumps: []item.Dump[feature]{item.List(&flowprobe.FlowprobeInterfaceDump{SwIfIndex: math.MaxUint32},
		func(d *feature) (feature, bool) { return *d, true })},
})

// NewFlowProbeFeature describes measured interfaces. VPP measures the packets that an interface
// sends, of one kind. It keeps that behind an interface that is deleted, so it must go before.
func NewFlowProbeFeature(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*ipfix.FlowProbeFeature, feature, feature]{
		Name: FlowProbeFeatureName, Model: FlowProbeFeatureModel, Operation: features, Resolve: resolveFeature,
		ID: func(e feature) feature { return feature{SwIfIndex: e.SwIfIndex} },
		Value: func(n *item.Names, e feature) *ipfix.FlowProbeFeature {
			return &ipfix.FlowProbeFeature{
				Interface: n.Interface(e.SwIfIndex), L2: e.Which == flowprobe.FLOWPROBE_WHICH_L2,
				Ip4: e.Which == flowprobe.FLOWPROBE_WHICH_IP4, Ip6: e.Which == flowprobe.FLOWPROBE_WHICH_IP6,
			}
		},
		Gone: []api.VPPApiError{api.NO_SUCH_ENTRY},
		Explain: map[api.VPPApiError]string{
			api.ENTRY_ALREADY_EXISTS: "interface: VPP measures it already",
		},
	})
}

func resolveFeature(r *item.Resolver, v *ipfix.FlowProbeFeature) feature {
	e := feature{SwIfIndex: r.Interface("interface", v.GetInterface()), Direction: flowprobe.FLOWPROBE_DIRECTION_TX}
	r.DependsOn("flowprobe-params", FlowProbeParamsModel.KeyPrefix())
	n := 0
	for which, measure := range map[flowprobe.FlowprobeWhich]bool{
		flowprobe.FLOWPROBE_WHICH_L2: v.GetL2(), flowprobe.FLOWPROBE_WHICH_IP4: v.GetIp4(), flowprobe.FLOWPROBE_WHICH_IP6: v.GetIp6(),
	} {
		if measure {
			e.Which = which
			n++
		}
	}
	if n != 1 {
		r.Fail("l2, ip4, ip6", "%d of them true, expected one: VPP measures one on an interface", n)
	}
	return e
}
