package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	policerapi "go.fd.io/govpp/binapi/policer"
	"google.golang.org/protobuf/proto"

	policer "github.com/tenuto-dev/tenuto/proto/ligato/vpp/policer"
)

// policerItems are policers and their uses.
// Policer returns a policer of one rate.
func Policer(name string) *policer.Policer {
	return &policer.Policer{
		Name: name, Cir: 1000, CommittedBurst: 20000, ConformAction: &policer.Policer_Action{Type: policer.Policer_Action_TRANSMIT},
		ExceedAction:  &policer.Policer_Action{Type: policer.Policer_Action_DROP},
		ViolateAction: &policer.Policer_Action{Type: policer.Policer_Action_DROP},
	}
}

func policerItem() Item {
	mark := func(dscp uint32) *policer.Policer_Action {
		return &policer.Policer_Action{Type: policer.Policer_Action_MARK, Dscp: dscp}
	}
	return Item{
		Name: "vpp.policer.policer",
		Make: func() proto.Message {
			p := Policer("gold")
			p.Algorithm, p.Eir, p.ExcessBurst, p.ColorAware = policer.Policer_TWO_RATES_RFC2698, 2000, 30000, true
			p.ConformAction, p.ExceedAction, p.Rounding = mark(46), mark(10), policer.Policer_UP
			return p
		},
		Capability: "policer",
		Spellings:  []Change{To(func(p *policer.Policer) { p.ViolateAction = nil })},
		Updates: []Change{
			To(func(p *policer.Policer) { p.Cir, p.CommittedBurst = 1500, 40000 }),
			To(func(p *policer.Policer) {
				p.Algorithm, p.Eir, p.ExcessBurst, p.ColorAware = policer.Policer_ONE_RATE_TWO_COLORS, 0, 0, false
			}),
			To(func(p *policer.Policer) {
				p.Unit, p.Algorithm, p.CommittedBurst, p.ExcessBurst = policer.Policer_PPS, policer.Policer_TWO_RATES_RFC4115, 100, 200
			}),
		},
		UpdateNeeds: &policerapi.PolicerUpdate{},
		Recreates:   []Change{To(func(p *policer.Policer) { p.Name = "silver" })},
		Refusals: map[string]Change{
			"name: 64 bytes, expected at most 63":       To(func(p *policer.Policer) { p.Name = strings.Repeat("x", 64) }),
			"cir: 0, expected at least 1":               To(func(p *policer.Policer) { p.Cir = 0 }),
			"eir: 999, expected at least cir, 1000":     To(func(p *policer.Policer) { p.Eir = 999 }),
			"eir: 0, expected at least 1: TWO_RATES":    To(func(p *policer.Policer) { p.Eir = 0 }),
			"eir: 2000, expected 0: ONE_RATE":           To(func(p *policer.Policer) { p.Algorithm = policer.Policer_ONE_RATE_THREE_COLORS }),
			"committed_burst: 0, expected at least":     To(func(p *policer.Policer) { p.CommittedBurst = 0 }),
			"excess_burst: 0, expected at least 1":      To(func(p *policer.Policer) { p.ExcessBurst = 0 }),
			"excess_burst: 30000, expected 0: ONE_RATE": To(func(p *policer.Policer) { p.Algorithm, p.Eir = policer.Policer_ONE_RATE_TWO_COLORS, 0 }),
			"excess_burst: 19999, expected at least committed_burst": To(func(p *policer.Policer) {
				p.Algorithm, p.ExcessBurst = policer.Policer_TWO_RATES_RFC4115, 19999
			}),
			"algorithm: 5, expected ONE":            To(func(p *policer.Policer) { p.Algorithm = 5 }),
			"unit: 2, expected KBPS, PPS":           To(func(p *policer.Policer) { p.Unit = 2 }),
			"rounding: 3, expected CLOSEST":         To(func(p *policer.Policer) { p.Rounding = 3 }),
			"conform_action.dscp: 64, expected":     To(func(p *policer.Policer) { p.ConformAction.Dscp = 64 }),
			"violate_action.dscp: 1, expected 0":    To(func(p *policer.Policer) { p.ViolateAction.Dscp = 1 }),
			"exceed_action.type: 4, expected DEFAU": To(func(p *policer.Policer) { p.ExceedAction.Type = 4 }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &policerapi.PolicerAddDel{Name: m.(*policer.Policer).Name}, &policerapi.PolicerAddDelReply{}
		},
		Without: map[string]string{"Needs": "a policer needs no interface", "Conflicts": "the name is the key"},
	}
}

func policerInterface() Item {
	return Item{
		Name: "vpp.policer.interface",
		Make: func() proto.Message {
			return &policer.Interface{Interface: "lo", Direction: policer.Interface_OUTPUT, Policer: "silver"}
		},
		Needs:      func() []proto.Message { return []proto.Message{Base(), Policer("silver")} },
		Capability: "policer on interface",
		Refusals: map[string]Change{
			"policer: empty":                       To(func(i *policer.Interface) { i.Policer = "" }),
			"interface: empty":                     To(func(i *policer.Interface) { i.Interface = "" }),
			"direction: 2, expected INPUT, OUTPUT": To(func(i *policer.Interface) { i.Direction = 2 }),
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "a policer is applied after the former one ended",
			"Recreates": "it has only the name of another policer besides the key: TestPolicers", "Conflicts": "interface and direction are the key",
			"Retrieve": "VPP does not report it", "ByHand": "VPP does not report it", "Restart": "VPP does not report it",
		},
	}
}
