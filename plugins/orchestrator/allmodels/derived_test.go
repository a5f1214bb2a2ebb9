package allmodels_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The template of a custom model is the template of its names, or none if they are not made of
// fields.
func TestTemplateOfCustomModels(t *testing.T) {
	t.Parallel()
	spec := models.Spec{Module: "mine", Type: "routes", Version: "v1", Class: "config"}
	for want, name := range map[string]func(*l3.Route) string{
		"{{.OutgoingInterface}}": func(r *l3.Route) string { return r.OutgoingInterface },
		"to/{{.DstNetwork}}/vrf/{{.VrfId}}/{{.Weight}}": func(r *l3.Route) string {
			return fmt.Sprintf("to/%s/vrf/%d/%d", r.DstNetwork, r.VrfId, r.Weight)
		},
		"{{.NextHopAddr}}{{.NextHopAddr}}": func(r *l3.Route) string { return r.NextHopAddr + r.NextHopAddr },
		"": func(r *l3.Route) string {
			if p, err := netip.ParsePrefix(r.DstNetwork); err == nil {
				return p.Masked().String()
			}
			return r.DstNetwork
		},
	} {
		m := models.New(spec, name)
		got := allmodels.TemplateOf(m)
		if got != want {
			t.Errorf("template %q, expected %q", got, want)
		}
		route := &l3.Route{DstNetwork: "10.0.0.0/8", NextHopAddr: "10.1.1.1", OutgoingInterface: "loop1", VrfId: 3, Weight: 1}
		switch text, err := allmodels.NameFrom(got, route.ProtoReflect()); {
		case got == "" && err == nil:
			t.Errorf("a name without a template: %q", text)
		case got != "" && text != name(route):
			t.Errorf("%s: name %q, %v, expected %q", got, text, err, name(route))
		}
	}
	others := map[string]models.Known{
		"by a conversion of an enum": models.New(spec, func(r *l3.Route) string { return r.Type.String() }),
		"by a flag":                  models.New(spec, func(r *l3.Route) string { return fmt.Sprint(r.Weight > 5) }),
		"of a singleton":             models.Singleton[*l3.Route](spec),
	}
	for what, m := range others {
		if got := allmodels.TemplateOf(m); got != "" {
			t.Errorf("%s: template %q, expected none", what, got)
		}
	}
	if set := allmodels.MustSet(); len(set.All()) > 0 {
		m, _ := set.ForName("vpp.l2.fib")
		if got := allmodels.TemplateOf(m); got != "{{.BridgeDomain}}/mac/{{.PhysAddress}}" {
			t.Errorf("vpp.l2.fib: %q", got)
		}
	}
}
