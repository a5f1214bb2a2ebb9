package vpptest_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// layer2Features returns the features of layer 2 that VPP has turned on for an interface.
func layer2Features(b *vpptest.Harness, iface string) string {
	if b.Sim != nil {
		_, of, _ := strings.Cut(b.Sim.Dump(), `"`+iface+`"`)
		_, of, _ = strings.Cut(of, "\n")
		for line := range strings.Lines(of) {
			if !strings.HasPrefix(line, "  ") {
				break
			}
			if all, is := strings.CutPrefix(line, "  layer 2: "); is {
				return strings.TrimSpace(all)
			}
		}
		return ""
	}
	var on []string
	for _, d := range b.AllInterfaces() {
		if d.Tag != iface {
			continue
		}
		shown := b.CLI("show interface features " + d.InterfaceName)
		for _, feature := range []string{"INPUT_FEAT_ARC", "OUTPUT_FEAT_ARC", "SPAN", "L2_IP_QOS_RECORD", "(l2-input-acl)"} {
			if strings.Contains(shown, feature) {
				on = append(on, feature)
			}
		}
	}
	return strings.Join(on, " ")
}

// An interface keeps its features of layer 2 whatever bridge domain or cross-connect it is in: access
// lists, mirroring and QoS records work after each move as they do on a fresh VPP.
func TestLayer2FeaturesOutliveMoves(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		list := received("list", 0, "a", "b")
		list.Interfaces.Egress = []string{"a"}
		macs := &acl.ACL{Name: "macs", Interfaces: &acl.ACL_Interfaces{Ingress: []string{"b"}}, Rules: []*acl.ACL_Rule{{
			Action: acl.ACL_Rule_PERMIT, MacipRule: &acl.ACL_Rule_MacIpRule{
				SourceAddress: "10.0.0.0", SourceAddressPrefix: 8, SourceMacAddress: "02:00:00:00:00:01", SourceMacAddressMask: "ff:ff:ff:ff:ff:ff",
			},
		}}}
		all := of(loop("a"), loop("b"), loop("c"), loop("d"), memif("m", 3, ""), list, macs,
			&interfaces.Span{InterfaceFrom: "a", InterfaceTo: "c", Direction: interfaces.Span_BOTH, IsL2: true}, &interfaces.Span{InterfaceFrom: "a", InterfaceTo: "d", Direction: interfaces.Span_BOTH, IsL2: true},
			&qos.Record{Interface: "a", Source: qos.Source_IP})
		b.Must(all)
		allConfigured(t, b, all)
		want := map[string]string{"a": layer2Features(b, "a"), "b": layer2Features(b, "b")}
		if want["a"] == "" || want["b"] == "" {
			t.Fatalf("features %q", want)
		}
		grouped := bridge("bd1", "a", "b")
		grouped.Interfaces[0].SplitHorizonGroup = 1
		var at values
		for _, step := range []struct {
			name string
			to   values
		}{
			{"bridged", of(bridge("bd1", "a", "b"))},
			{"split horizon group", of(grouped)},
			{"bridge domain renamed", of(bridge("bd2", "a", "b"))},
			{"layer 3", nil},
			{"cross-connected", of(xconnect("a", "m"), xconnect("b", "m"))},
			{"bridged again", of(bridge("bd1", "a", "b"))},
			{"one left", of(bridge("bd1", "b"))},
		} {
			change := deleted(at)
			maps.Copy(change, step.to)
			b.Must(change)
			at = step.to
			for name, features := range want {
				if got := layer2Features(b, name); got != features {
					t.Errorf("%s: %s has the features %q, expected %q", step.name, name, got, features)
				}
			}
			b.InSync()
		}
		b.Must(deleted(at))
		b.Must(deleted(all))
	})
}
