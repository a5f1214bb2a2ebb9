package policerplugin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"go.fd.io/govpp/api"
	policerapi "go.fd.io/govpp/binapi/policer"
	"go.fd.io/govpp/binapi/policer_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	policer "github.com/tenuto-dev/tenuto/proto/ligato/vpp/policer"
)

// The names of the descriptors.
const (
	PolicerName   = "vpp-policer"
	InterfaceName = "vpp-policer-interface"
)

// meter is a policer as VPP has it.
type meter struct {
	name   string
	config policer_types.PolicerConfig
}

// meters uses the requests with names, which all releases have: records of the dumps have no index.
var meters = item.Declare("policer", "", item.Variant[meter]{
	Change: func(e meter, add bool) (request, reply api.Message) {
		c := e.config
		return &policerapi.PolicerAddDel{
			IsAdd: add, Name: e.name, Cir: c.Cir, Eir: c.Eir, Cb: c.Cb, Eb: c.Eb, RateType: c.RateType, RoundType: c.RoundType, Type: c.Type,
			ColorAware: c.ColorAware, ConformAction: c.ConformAction, ExceedAction: c.ExceedAction, ViolateAction: c.ViolateAction,
		}, &policerapi.PolicerAddDelReply{}
	},
	Dumps: []item.Dump[meter]{item.List(&policerapi.PolicerDump{}, func(d *policerapi.PolicerDetails) (meter, bool) {
		return meter{d.Name, policer_types.PolicerConfig{
			Cir: d.Cir, Eir: d.Eir, Cb: d.Cb, Eb: d.Eb, RateType: d.RateType, RoundType: d.RoundType, Type: d.Type,
			ColorAware: d.ColorAware, ConformAction: d.ConformAction, ExceedAction: d.ExceedAction, ViolateAction: d.ViolateAction,
		}}, true
	})},
})

// updates change a policer in place, by its index.
var updates = session.Step("update of policers", session.Variant(struct{}{}, &policerapi.PolicerUpdate{}, &policerapi.PolicerUpdateReply{},
	&policerapi.PolicerDumpV2{}, &policerapi.PolicerDetails{}))

// NewPolicer describes policers. The agent leaves policers of other clients alone: VPP deletes a
// policer that is used.
func NewPolicer(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*policer.Policer, meter, string]{
		Name: PolicerName, Model: PolicerModel, Operation: meters,
		Resolve: resolvePolicer, Value: policerValue,
		ID:         func(e meter) string { return e.name },
		Learned:    func(meter) bool { return false },
		Changeable: func(_, _ meter) bool { return updates.Check(vpp) == nil },
		Update: func(ctx context.Context, _, all []meter) []error {
			return update(ctx, vpp, all)
		},
		Gone: []api.VPPApiError{api.NO_SUCH_ENTRY},
		Explain: map[api.VPPApiError]string{
			api.VALUE_EXIST:   "name: another policer of VPP has it",
			api.INVALID_VALUE: "cir, eir, committed_burst, excess_burst: VPP cannot measure them",
		},
	})
}

// maxIndex limits the search for policers.
const maxIndex = 1 << 20

// update changes policers, after a search for their indexes.
func update(ctx context.Context, vpp *session.VPP, all []meter) []error {
	errs, names := make([]error, len(all)), make([]string, len(all))
	for i, e := range all {
		names[i] = e.name
	}
	indexes, err := Indexes(ctx, vpp, names...)
	for i, e := range all {
		index, found := indexes[e.name]
		switch {
		case err != nil:
			errs[i] = err
		case !found:
			errs[i] = fmt.Errorf("VPP has no policer %q", e.name)
		default:
			errs[i] = vpp.Call(ctx, &policerapi.PolicerUpdate{PolicerIndex: index, Infos: e.config}, &policerapi.PolicerUpdateReply{})
		}
	}
	return errs
}

// ByIndex is the dump that Indexes needs. VPP has it since 23.06.
var ByIndex = session.Step("indexes of policers", session.Variant(struct{}{}, &policerapi.PolicerDumpV2{}, &policerapi.PolicerDetails{}))

// Indexes returns the indexes of the policers with the given names, and of others, that VPP has.
// Without names it returns the indexes of all policers. It asks for the policer of one index after
// another.
func Indexes(ctx context.Context, vpp *session.VPP, names ...string) (map[string]uint32, error) {
	if err := ByIndex.Check(vpp); err != nil {
		return nil, err
	}
	existing, err := session.Dump[*policerapi.PolicerDetails](ctx, vpp, &policerapi.PolicerDumpV2{PolicerIndex: math.MaxUint32})
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	indexes := map[string]uint32{}
	for index, seen := uint32(0), 0; (len(names) == 0 || len(missing) > 0) && seen < len(existing); index++ {
		found, err := session.Dump[*policerapi.PolicerDetails](ctx, vpp, &policerapi.PolicerDumpV2{PolicerIndex: index})
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			seen++
			delete(missing, d.Name)
			indexes[d.Name] = index
		}
		if index == maxIndex {
			return nil, errors.New("VPP has policers above index 1048576")
		}
	}
	return indexes, nil
}

func resolvePolicer(r *item.Resolver, v *policer.Policer) meter {
	if len(v.GetName()) > 63 {
		r.Fail("name", "%d bytes, expected at most 63", len(v.GetName()))
	}
	r.Enum("algorithm", v.GetAlgorithm())
	r.Enum("unit", v.GetUnit())
	r.Enum("rounding", v.GetRounding())
	checkRates(r, v)
	checkBursts(r, v)
	c := policer_types.PolicerConfig{
		Cir: v.GetCir(), Eir: v.GetEir(), Cb: v.GetCommittedBurst(), Eb: v.GetExcessBurst(),
		RateType: policer_types.Sse2QosRateType(v.GetUnit()), RoundType: policer_types.Sse2QosRoundType(v.GetRounding()),
		Type: policer_types.Sse2QosPolicerType(v.GetAlgorithm()), ColorAware: v.GetColorAware(),
	}
	c.ConformAction = action(r, "conform_action", v.GetConformAction(), policer_types.SSE2_QOS_ACTION_API_TRANSMIT)
	c.ExceedAction = action(r, "exceed_action", v.GetExceedAction(), policer_types.SSE2_QOS_ACTION_API_DROP)
	c.ViolateAction = action(r, "violate_action", v.GetViolateAction(), policer_types.SSE2_QOS_ACTION_API_DROP)
	return meter{v.GetName(), c}
}

// checkRates refuses what VPP refuses without a reason, and what it computes wrong values from.
func checkRates(r *item.Resolver, v *policer.Policer) {
	a := v.GetAlgorithm()
	oneRate := a <= policer.Policer_ONE_RATE_THREE_COLORS
	switch {
	case oneRate && v.GetEir() != 0:
		r.Fail("eir", "%d, expected 0: %s has one rate", v.GetEir(), a)
	case !oneRate && v.GetEir() == 0:
		r.Fail("eir", "0, expected at least 1: %s has two rates", a)
	case !oneRate && a != policer.Policer_TWO_RATES_MEF5CF1 && v.GetEir() < v.GetCir():
		r.Fail("eir", "%d, expected at least cir, %d", v.GetEir(), v.GetCir())
	}
}

func checkBursts(r *item.Resolver, v *policer.Policer) {
	a := v.GetAlgorithm()
	twoColors := a == policer.Policer_ONE_RATE_TWO_COLORS
	switch {
	case twoColors && v.GetExcessBurst() != 0:
		r.Fail("excess_burst", "%d, expected 0: %s has one burst", v.GetExcessBurst(), a)
	case !twoColors && v.GetExcessBurst() == 0:
		r.Fail("excess_burst", "0, expected at least 1: %s has two bursts", a)
	case a == policer.Policer_TWO_RATES_RFC4115 && v.GetExcessBurst() < v.GetCommittedBurst():
		r.Fail("excess_burst", "%d, expected at least committed_burst, %d", v.GetExcessBurst(), v.GetCommittedBurst())
	}
}

func action(r *item.Resolver, field string, a *policer.Policer_Action, usual policer_types.Sse2QosActionType) policer_types.Sse2QosAction {
	r.Enum(field+".type", a.GetType())
	dscp := r.Range(field+".dscp", a.GetDscp(), 0, 63)
	if a.GetType() != policer.Policer_Action_MARK && dscp != 0 {
		r.Fail(field+".dscp", "%d, expected 0: only MARK sets it", dscp)
	}
	if a.GetType() == policer.Policer_Action_DEFAULT {
		return policer_types.Sse2QosAction{Type: usual}
	}
	return policer_types.Sse2QosAction{Type: policer_types.Sse2QosActionType(a.GetType() - policer.Policer_Action_DROP), Dscp: uint8(dscp)}
}

func policerValue(_ *item.Names, e meter) *policer.Policer {
	c := e.config
	return &policer.Policer{
		Name: e.name, Algorithm: policer.Policer_Algorithm(c.Type), Unit: policer.Policer_Unit(c.RateType), Cir: c.Cir, Eir: c.Eir,
		CommittedBurst: c.Cb, ExcessBurst: c.Eb, Rounding: policer.Policer_Rounding(c.RoundType), ColorAware: c.ColorAware,
		ConformAction: actionValue(c.ConformAction), ExceedAction: actionValue(c.ExceedAction), ViolateAction: actionValue(c.ViolateAction),
	}
}

func actionValue(a policer_types.Sse2QosAction) *policer.Policer_Action {
	return &policer.Policer_Action{Type: policer.Policer_Action_Type(a.Type) + policer.Policer_Action_DROP, Dscp: uint32(a.Dscp)}
}
