package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	policerapi "go.fd.io/govpp/binapi/policer"
	"go.fd.io/govpp/binapi/policer_types"
)

// policer limits the rate of packets. What it has measured is not simulated.
type policer struct {
	name   string
	config policer_types.PolicerConfig
}

// policers is the pool of policers, and the policers in use on interfaces, by index and
// direction. A policer can be deleted while it is used.
type policers struct {
	*VNet
	pool[policer]
	input, output map[uint32]uint32
}

func newPolicers(n *VNet) feature { return &policers{VNet: n} }

func (p *policers) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *policerapi.PolicerAddDel) *policerapi.PolicerAddDelReply {
		index, rv := none, ok
		if !req.IsAdd {
			rv = p.delete(req.Name)
		} else {
			index, rv = p.create(req.Name, policer_types.PolicerConfig{
				Cir: req.Cir, Eir: req.Eir, Cb: req.Cb, Eb: req.Eb, RateType: req.RateType, RoundType: req.RoundType, Type: req.Type,
				ColorAware: req.ColorAware, ConformAction: req.ConformAction, ExceedAction: req.ExceedAction, ViolateAction: req.ViolateAction,
			})
		}
		if rv != ok && p.before("23.06") {
			rv = api.UNSPECIFIED
		}
		return &policerapi.PolicerAddDelReply{Retval: int32(rv), PolicerIndex: index}
	})
	handle[policerapi.PolicerUpdateReply](server, func(req *policerapi.PolicerUpdate) retval {
		has := p.at(req.PolicerIndex)
		switch {
		case has == nil:
			return api.NO_SUCH_ENTRY
		case !measurable(req.Infos):
			return api.INVALID_VALUE
		}
		has.config = req.Infos
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *policerapi.PolicerDump) {
		for _, e := range p.all() {
			if !req.MatchNameValid || e.name == req.MatchName {
				c.Send(e.details())
			}
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *policerapi.PolicerDumpV2) {
		for index, e := range p.all() {
			if selects(ifIndex(req.PolicerIndex), index) {
				c.Send(e.details())
			}
		}
	})
	handle[policerapi.PolicerInputReply](server, func(req *policerapi.PolicerInput) retval {
		return p.use(p.input, req.Name, req.SwIfIndex, req.Apply, p.policerInput()...)
	})
	handle[policerapi.PolicerOutputReply](server, func(req *policerapi.PolicerOutput) retval {
		return p.use(p.output, req.Name, req.SwIfIndex, req.Apply, policerOutput()...)
	})
}

// policerInput are the nodes of what an interface receives (policer_input in
// src/vnet/policer/policer.c of 26.02, and in src/plugins/policer/policer_op.c of 26.06).
func (n *VNet) policerInput() []arcFeature {
	if n.before("26.06") {
		return []arcFeature{{"device-input", "policer-input"}}
	}
	return []arcFeature{{"ip4-unicast", "policer-input"}, {"ip6-unicast", "policer-input"}}
}

// policerOutput are the nodes of what an interface sends.
func policerOutput() []arcFeature {
	return []arcFeature{{"ip4-output", "policer-output"}, {"ip6-output", "policer-output"}}
}

func (p *policers) reset() {
	p.pool, p.input, p.output = pool[policer]{}, make(map[uint32]uint32), make(map[uint32]uint32)
}

func (p *policers) byName(name string) (uint32, *policer) {
	return p.find(func(e *policer) bool { return e.name == name })
}

func (p *policers) create(name string, c policer_types.PolicerConfig) (uint32, retval) {
	if _, has := p.byName(name); has != nil {
		return none, api.VALUE_EXIST
	}
	if !measurable(c) {
		return none, api.INVALID_VALUE
	}
	return p.add(&policer{name, c}), ok
}

func (p *policers) delete(name string) retval {
	index, has := p.byName(name)
	if has == nil {
		return api.NO_SUCH_ENTRY
	}
	p.remove(index)
	return ok
}

// measurable is what VPP checks (pol_validate_cfg_params in src/vnet/policer/xlate.c).
func measurable(c policer_types.PolicerConfig) bool {
	twoRates := c.Type > policer_types.SSE2_QOS_POLICER_TYPE_API_1R3C_RFC_2697
	switch {
	case c.Type == policer_types.SSE2_QOS_POLICER_TYPE_API_2R3C_RFC_2698 && c.Eir < c.Cir:
		return false
	case c.Type >= policer_types.SSE2_QOS_POLICER_TYPE_API_MAX, c.RoundType >= policer_types.SSE2_QOS_ROUND_API_INVALID:
		return false
	case c.Cir == 0 && c.Cb != 0, twoRates != (c.Eir != 0):
		return false
	}
	return c.Type != policer_types.SSE2_QOS_POLICER_TYPE_API_1R2C || c.Eb == 0
}

func (e *policer) details() *policerapi.PolicerDetails {
	c := e.config
	return &policerapi.PolicerDetails{
		Name: e.name, Cir: c.Cir, Eir: c.Eir, Cb: c.Cb, Eb: c.Eb, RateType: c.RateType, RoundType: c.RoundType, Type: c.Type,
		ColorAware: c.ColorAware, ConformAction: c.ConformAction, ExceedAction: c.ExceedAction, ViolateAction: c.ViolateAction,
	}
}

// use puts the node of policers into the paths of an interface as often as one is applied.
func (p *policers) use(by map[uint32]uint32, name string, index ifIndex, apply bool, nodes ...arcFeature) retval {
	if p.byIndex(index) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	at, has := p.byName(name)
	if has == nil {
		return api.NO_SUCH_ENTRY
	}
	if apply {
		by[uint32(index)] = at
	} else {
		delete(by, uint32(index))
	}
	for _, n := range nodes {
		p.arcs.set(uint32(index), n, apply)
	}
	return ok
}

func (p *policers) dumpInterface(b *strings.Builder, i *swInterface) {
	for _, d := range []struct {
		name string
		by   map[uint32]uint32
		node arcFeature
	}{
		{"input", p.input, p.policerInput()[0]}, {"output", p.output, policerOutput()[0]},
	} {
		if index, has := d.by[i.index]; has && p.arcs.on[i.index][d.node] > 0 {
			name := "of none"
			if e := p.at(index); e != nil {
				name = e.name
			}
			fmt.Fprintf(b, "  policer %s %s\n", d.name, name)
		}
	}
}

func (p *policers) dump(b *strings.Builder) {
	var lines []string
	for _, e := range p.all() {
		lines = append(lines, fmt.Sprintf("policer %s %+v\n", e.name, e.config))
	}
	dumpSorted(b, lines)
}
