package vppsim_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/l2"
	"go.fd.io/govpp/binapi/tapv2"
	"go.fd.io/govpp/binapi/vpe"
)

// TestEveryRelease: a simulator with the table of any release offers exactly
// its messages, and the simulated ones work.
func TestEveryRelease(t *testing.T) {
	t.Parallel()
	for _, release := range binding.Releases() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			table, err := binding.Release(release)
			if err != nil {
				t.Fatal(err)
			}
			vpp, socket := startSimulator(t, vppsim.Options{Release: table, Version: release + "-simulated"})
			c := dial(t, socket)
			for name, crc := range table {
				if _, known := c.ids[name+"_"+crc]; !known {
					t.Errorf("%s_%s is missing", name, crc)
				}
			}
			_, has := c.ids["bridge_domain_add_del_v2_600b7170"]
			if want := release >= "23.02"; has != want {
				t.Errorf("bridge_domain_add_del_v2: %t, expected %t", has, want)
			}
			if v := call[vpe.ShowVersionReply](c, &vpe.ShowVersion{}).Version; v != release+"-simulated" {
				t.Errorf("version %q", v)
			}
			tap := call[tapv2.TapCreateV3Reply](c, &tapv2.TapCreateV3{ID: 0xffffffff, UseRandomMac: true})
			details := c.exchange(&interfaces.SwInterfaceDump{SwIfIndex: tap.SwIfIndex})
			want := "virtio"
			if release >= "26.02" {
				want = "tap"
			}
			if len(details) != 1 || details[0].(*interfaces.SwInterfaceDetails).InterfaceDevType != want {
				t.Errorf("%+v, expected the device class %s", details, want)
			}
			if rv := call[tapv2.TapDeleteV2Reply](c, &tapv2.TapDeleteV2{SwIfIndex: tap.SwIfIndex}).Retval; rv != 0 {
				t.Errorf("delete the TAP: %d", rv)
			}
			if rv := call[l2.BridgeDomainAddDelReply](c, &l2.BridgeDomainAddDel{BdID: 1, IsAdd: true}).Retval; rv != 0 {
				t.Errorf("create a bridge domain: %d", rv)
			}
			if len(vpp.Messages()) < len(table) {
				t.Errorf("%d messages of %d", len(vpp.Messages()), len(table))
			}
		})
	}
}
