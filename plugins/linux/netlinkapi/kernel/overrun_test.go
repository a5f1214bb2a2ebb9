package kernel_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

// A reader that is too slow learns that events were lost, in its own and in another
// namespace.
func TestOverrun(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	own, other := w.Open(t, ""), w.Make(t, "other")
	for what, c := range map[string]struct {
		in    netlinkapi.Handle
		watch func(ready, event func()) error
	}{
		"own": {own, func(ready, event func()) error {
			return own.Watch(t.Context(), ready, func(netlinkapi.Event) { event() })
		}},
		"other": {other, func(ready, event func()) error {
			return own.WatchOthers(t.Context(), ready, func(int, netlinkapi.Event) { event() })
		}},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := own.Number(c.in); err != nil {
				t.Fatal(err)
			}
			ready, done := make(chan struct{}), make(chan error, 1)
			proceed := make(chan struct{})
			go func() {
				done <- c.watch(func() { close(ready) }, func() { <-proceed })
			}()
			<-ready
			removeRoutes(t, c.in, 30000)
			close(proceed)
			if err := <-done; !errors.Is(err, unix.ENOBUFS) {
				t.Errorf("error is %v, expected %v", err, unix.ENOBUFS)
			}
		})
	}
}

func removeRoutes(t *testing.T, h netlinkapi.Handle, n int) {
	t.Helper()
	if err := h.AddVeth("va", "vb"); err != nil {
		t.Fatal(err)
	}
	link := nltest.MustLink(t, h, "va").Index
	if err := h.SetUp(link, true); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := netlinkapi.Route{
			Link: link, Table: netlinkapi.MainTable, Protocol: netlinkapi.ProtocolAgent, Scope: netlinkapi.ScopeLink,
			Dst: netip.MustParsePrefix(fmt.Sprintf("20.%d.%d.%d/32", i>>16, i>>8&255, i&255)),
		}
		if err := errors.Join(h.AddRoute(r), h.DeleteRoute(r)); err != nil {
			t.Fatal(err)
		}
	}
}
