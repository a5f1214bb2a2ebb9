package nltest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testWatchTables: tables of nftables that other programs change are reported, in this and in another
// namespace; changes by the handles of the same kernel are not.
func testWatchTables(t *testing.T, w *World) {
	if _, err := w.Open(t, "").NFTable(t.Context(), netlinkapi.NFTable{Family: "ip", Name: "t"}, false); errors.Is(err, netlinkapi.ErrNoProgram) {
		t.Skipf("SKIPPED: nftables is not tested on the kernel: %v", err)
	}
	for _, name := range []string{"", "a"} {
		t.Run("namespace "+name, func(t *testing.T) {
			own := w.Open(t, "")
			h := own
			if name != "" {
				h = w.Make(t, name)
			}
			number, err := own.Number(t.Context(), h)
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			r := removals{t, make(chan netlinkapi.Event, 1000)}
			ready, done := make(chan struct{}), make(chan error)
			go func() {
				if name == "" {
					done <- own.Watch(ctx, func() { close(ready) }, func(e netlinkapi.Event) { r.events <- e })
					return
				}
				done <- own.WatchOthers(ctx, func() { close(ready) }, func(n int, e netlinkapi.Event) {
					if n == number {
						r.events <- e
					}
				})
			}()
			<-ready
			checkTables(t, h, w.Foreign(t, name), r)
			cancel()
			must(t, <-done)
		})
	}
}

func checkTables(t *testing.T, h, foreign netlinkapi.Handle, r removals) {
	t.Helper()
	ctx := t.Context()
	ours, theirs := netlinkapi.NFTable{Family: "inet", Name: "ours"}, netlinkapi.NFTable{Family: "bridge", Name: "theirs"}
	event := func(table netlinkapi.NFTable) netlinkapi.Event {
		return netlinkapi.Event{Kind: netlinkapi.TableChanged, NFTable: table}
	}
	const content = "chain c {\n accept\n}"
	must(t, h.SetNFTable(ctx, ours, content))
	must(t, foreign.SetNFTable(ctx, theirs, content))
	if all := r.await(event(theirs)); slices.Contains(all, event(ours)) {
		t.Errorf("events of own changes: %+v", all)
	}
	must(t, foreign.SetNFTable(ctx, ours, content))
	r.await(event(ours))
	must(t, h.DeleteNFTable(ctx, ours))
	must(t, foreign.DeleteNFTable(ctx, theirs))
	if all := r.await(event(theirs)); slices.Contains(all, event(ours)) {
		t.Errorf("events of own changes: %+v", all)
	}
}
