package vpptest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// VPP does not mark an entry of a bridge domain, and lists one that is not static among the learned ones. An agent
// that restarts with another entry for the address, whose interface does not exist, removes the previous one.
func TestRestartWithAnEntryThatWaits(t *testing.T) {
	const mac = "62:89:c6:a3:6d:5c"
	entry := func(iface string) *l2.FIBEntry {
		return &l2.FIBEntry{PhysAddress: mac, BridgeDomain: "bd1", OutgoingInterface: iface}
	}
	for name, next := range map[string]values{
		"its interface stays":      of(bridge("bd1", "loop18", "loop38"), loop("loop18"), entry("loop38")),
		"its interface is removed": of(bridge("bd1", "loop38"), entry("loop38")),
	} {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				dir := t.TempDir()
				b := vpptest.Start(t, target, vpptest.StateDir(dir))
				b.FullResync(of(bridge("bd1", "loop18"), loop("loop18"), entry("loop18")))
				readBack(t, b, "vpp-l2-fib", of(entry("loop18")))
				b.Stop()

				b = vpptest.Start(t, target, vpptest.StateDir(dir))
				b.FullResync(next)
				b.Want(states{key(entry("loop38")): pending})
				if entries := b.CLI("show l2fib all"); strings.Contains(entries, mac) {
					t.Errorf("the entry of the previous agent is still in VPP:\n%s", entries)
				}
				b.InSync()
			})
		})
	}
}
