package iptablesplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// TestForeignChange: chains that another program changes are as the configuration says again at once,
// without a resync. iptables-legacy has no events.
func TestForeignChange(t *testing.T) {
	for name, world := range map[string]func(t *testing.T) *nltest.World{
		"sim": func(*testing.T) *nltest.World { return nltest.Sim() },
		"nft": func(t *testing.T) *nltest.World { usePrograms(t, "nft"); return nltest.Kernel(t) },
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			h := w.Make(t, "left")
			a := linuxtest.Start(t, w)
			must(t, a.Apply(custom(left), input(iptables.RuleChain_DROP)))
			want := saved(t, h, filter)
			other := w.Foreign(t, "left")
			restore(t, other, ":OWN - [0:0]", "-A OWN -j DROP", "-P INPUT ACCEPT")
			a.Quiet("the chains are repaired", func() bool { return saved(t, h, filter) == want })
			restore(t, other, "-A FORWARD -s 10.0.0.0/8 -j DROP") // of another program
			a.TransactionBarrier()
			has(t, h, filter, "-A FORWARD -s 10.0.0.0/8 -j DROP")
		})
	}
}
