package vpptest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	stn "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
)

// VPP would give an address to the interface that comes last. The agent refuses that, moves
// an address when both rules change together, and a rule that was refused takes nothing
// from the other one when it is deleted.
func TestSTNRulesOfOneAddress(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("a"), loop("b")))
		first, second := &stn.Rule{IpAddress: "10.1.1.1", Interface: "a"}, &stn.Rule{IpAddress: "10.1.1.1", Interface: "b"}
		b.Must(of(first))
		const says = "ip_address: VPP has it already, for config/vpp/stn/v2/rule/a/ip/10.1.1.1"
		if err := b.Commit(of(second)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, expected %q", err, says)
		}
		b.Want(states{catalogue.Key(second): failed})
		b.Must(deleted(of(second)))
		allConfigured(t, b, of(first))
		b.InSync()
		b.Must(values{catalogue.Key(first): nil, catalogue.Key(second): second})
		allConfigured(t, b, of(second))
		b.InSync()
		b.Must(deleted(of(second, loop("a"), loop("b"))))
	})
}
