package nltest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testVLANs: bridges and their ports begin with VLAN 1, and have the VLANs that they were
// given until they leave.
func testVLANs(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	plain := netlinkapi.Bridge{Ageing: time.Minute}
	filtering := plain
	filtering.VLANFiltering = true
	must(t, own.AddLink(t.Context(), "b2", plain, 0))
	port, bridge := MustLink(t, own, "va").Index, MustLink(t, own, "b2").Index
	must(t, own.SetMaster(t.Context(), port, bridge))
	first := netlinkapi.PortVLAN{ID: 1, PVID: true, Untagged: true}
	if err := own.AddPortVLANs(t.Context(), port, first, 1); errors.Is(err, netlinkapi.ErrUnsupported) && w.Sim == nil {
		expect(t, "make a bridge filter", own.ChangeLink(t.Context(), bridge, filtering), netlinkapi.ErrUnsupported)
		expect(t, "make a bridge that filters", own.AddLink(t.Context(), "b1", filtering, 0), netlinkapi.ErrUnsupported)
		_, err := own.LinkByName(t.Context(), "b1")
		expect(t, "the bridge that cannot filter", err, netlinkapi.ErrNotFound)
		all, err := own.PortVLANs(t.Context())
		if err != nil || len(all) != 0 {
			t.Errorf("VLANs are %v (error %v), expected none", all, err)
		}
		t.Skipf("SKIPPED: VLANs of bridges are not tested on the kernel, which lacks them: %v", err)
	}
	must(t, own.ChangeLink(t.Context(), bridge, filtering))
	expectVLANs := func(link int, want ...netlinkapi.PortVLAN) {
		t.Helper()
		all, err := own.PortVLANs(t.Context())
		must(t, err)
		if !slices.Equal(all[link], want) {
			t.Errorf("VLANs are %+v, expected %+v", all[link], want)
		}
	}
	for _, link := range []int{port, bridge} {
		expectVLANs(link, first)
		must(t, own.AddPortVLANs(t.Context(), link, netlinkapi.PortVLAN{ID: 20}, 22))
		must(t, own.AddPortVLANs(t.Context(), link, netlinkapi.PortVLAN{ID: 10, PVID: true}, 10))
		expectVLANs(link, netlinkapi.PortVLAN{ID: 1, Untagged: true}, netlinkapi.PortVLAN{ID: 10, PVID: true},
			netlinkapi.PortVLAN{ID: 20}, netlinkapi.PortVLAN{ID: 21}, netlinkapi.PortVLAN{ID: 22})
		must(t, own.AddPortVLANs(t.Context(), link, netlinkapi.PortVLAN{ID: 21, Untagged: true}, 21))
		must(t, own.DeletePortVLANs(t.Context(), link, 1, 10))
		must(t, own.DeletePortVLANs(t.Context(), link, 22, 22))
		must(t, own.DeletePortVLANs(t.Context(), link, 22, 22))
		expectVLANs(link, netlinkapi.PortVLAN{ID: 20}, netlinkapi.PortVLAN{ID: 21, Untagged: true})
	}
	if err := own.AddPortVLANs(t.Context(), port, netlinkapi.PortVLAN{ID: 30, PVID: true}, 31); err == nil {
		t.Error("two VLANs are the PVID")
	}
	must(t, own.SetMaster(t.Context(), port, 0))
	expectVLANs(port)
	if err := own.AddPortVLANs(t.Context(), port, first, 1); err == nil {
		t.Error("a link that is no port has VLANs")
	}
	must(t, own.SetMaster(t.Context(), port, bridge))
	expectVLANs(port, first)
}
