package vpptest_test

import (
	"testing"

	api "go.fd.io/govpp/binapi/interface"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

// An interface whose tag another client of VPP removed gets it back, and is not created a second time.
func TestLostTag(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		host := target.Real != nil && makeHost(t)
		for _, k := range catalogue.Kinds() {
			t.Run(k.Name, func(t *testing.T) {
				target := target
				if target.Real != nil {
					needsReal(t, k, host)
				} else {
					target = vpptest.Simulator(t, simOptions())
				}
				b := startMatrix(t, target)
				defer b.Stop()
				i := k.With(loop("kind", "10.66.0.1/24"))
				all := of(k.Needs...)
				all[ifKey(i.Name)] = i
				b.Must(all)
				allConfigured(t, b, all)
				before := b.AllInterfaces()
				for _, found := range before {
					if found.Tag != i.Name {
						continue
					}
					request := &api.SwInterfaceTagAddDel{SwIfIndex: found.SwIfIndex}
					if err := b.Mux.Conn().Invoke(t.Context(), request, &api.SwInterfaceTagAddDelReply{}); err != nil {
						t.Fatal(err)
					}
				}
				if ops := b.Resync(); len(ops) > 0 {
					t.Errorf("operations: %q, expected none", ops)
				}
				allConfigured(t, b, all)
				after := b.AllInterfaces()
				if len(after) != len(before) {
					t.Fatalf("VPP has %d interfaces, before it had %d", len(after), len(before))
				}
				for n, found := range after {
					if found.Tag != before[n].Tag || found.SwIfIndex != before[n].SwIfIndex {
						t.Errorf("interface %d has the tag %q, before %d had %q", found.SwIfIndex, found.Tag, before[n].SwIfIndex, before[n].Tag)
					}
				}
				b.InSync()
				b.Must(deleted(all))
			})
		}
	})
}
