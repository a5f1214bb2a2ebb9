package nftablesplugin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

// TestForeignChange: a table that another program changes or deletes is as the configuration says
// again at once, without a resync, in this and in another namespace.
func TestForeignChange(t *testing.T) {
	t.Parallel()
	for name, ns := range map[string]*namespace.NetNamespace{"": nil, "left": left} {
		t.Run("namespace "+name, func(t *testing.T) {
			run(t, func(t *testing.T, w *nltest.World) {
				a := linuxtest.Start(t, w)
				v := tableOf(ns, "counter accept")
				must(t, a.Apply(v))
				h, other := w.Open(t, name), w.Foreign(t, name)
				want := listed(t, h, tableIn)
				set(t, other, tableIn, strings.Replace(want, "jump more", "accept", 1))
				a.Quiet("the table is repaired", func() bool { return listed(t, h, tableIn) == want })
				must(t, other.DeleteNFTable(t.Context(), tableIn))
				a.Quiet("the table is there again", func() bool { return listed(t, h, tableIn) == want })
				a.Quiet("the table is configured", func() bool { return a.State(linuxtest.Key(t, v)).GetState() == configured })
			})
		})
	}
}

// TestOwnChanges: what the agent changes itself, and what others change in their own tables, is not
// taken for a loss, and a change is read once however many objects it is about.
func TestOwnChanges(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own, other := w.Open(t, ""), w.Foreign(t, "")
		for _, rule := range []string{"accept", "drop", "counter accept"} {
			must(t, a.Apply(tableOf(nil, rule)))
			set(t, other, foreign, "chain c {\n "+rule+"\n}")
		}
		v := tableOf(nil, slices.Repeat([]string{"counter accept"}, 500)...)
		must(t, a.Apply(v))
		want := listed(t, own, tableIn)
		set(t, other, tableIn, strings.ReplaceAll(want, "counter", "limit rate 1/second counter")) // behind all events before
		a.Quiet("the last change is repaired", func() bool { return listed(t, own, tableIn) == want })
		a.TransactionBarrier()
		repairs := 0
		for _, txn := range a.GetTransactionHistory(time.Time{}, time.Time{}) {
			if strings.Contains(txn.Description, "lost") {
				repairs++
			}
		}
		if repairs != 1 {
			t.Errorf("%d repairs, expected one", repairs)
		}
	})
}

// TestMissedChange: after events were lost, all tables are read.
func TestMissedChange(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	a := linuxtest.Start(t, w)
	must(t, a.Apply(tableOf(nil, "accept")))
	own := w.Open(t, "")
	want := listed(t, own, tableIn)
	a.Quiet("the agent listens", func() bool { return w.Sim.Watchers("") == 1 })
	reads := w.Sim.Calls("NFTable")
	w.Sim.Overflow("")
	set(t, w.Foreign(t, ""), tableIn, strings.Replace(want, "jump more", "accept", 1))
	a.Quiet("the table is repaired", func() bool { return listed(t, own, tableIn) == want })
	if w.Sim.Calls("NFTable") == reads {
		t.Error("nothing was read")
	}
}

// TestOneTableIsRead: a change of one table of many costs reading that one.
func TestOneTableIsRead(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	a := linuxtest.Start(t, w)
	const tables = 50
	for n := range tables {
		must(t, a.Apply(&nftables.Table{Name: "t" + strings.Repeat("x", n), Content: "chain c {\n accept\n}"}))
	}
	a.Quiet("the agent listens", func() bool { return w.Sim.Watchers("") == 1 })
	reads := w.Sim.Calls("NFTable")
	must(t, w.Foreign(t, "").DeleteNFTable(t.Context(), netlinkapi.NFTable{Family: "inet", Name: "txxx"}))
	a.Quiet("the table is there again", func() bool {
		return a.State("config/linux/nftables/v2/table/txxx").GetState() == configured && w.Sim.Calls("SetNFTable") == tables+1
	})
	if reads = w.Sim.Calls("NFTable") - reads; reads > 5 {
		t.Errorf("%d tables were read", reads)
	}
}
