package kernel_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
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
		flood func(t *testing.T, h netlinkapi.Handle)
	}{
		"own": {own, func(ready, event func()) error {
			return own.Watch(t.Context(), ready, func(netlinkapi.Event) { event() })
		}, removeRoutes},
		"other": {other, func(ready, event func()) error {
			return own.WatchOthers(t.Context(), ready, func(int, netlinkapi.Event) { event() })
		}, removeRoutes},
		"nftables": {w.Foreign(t, "other"), func(ready, event func()) error {
			return own.WatchOthers(t.Context(), ready, func(int, netlinkapi.Event) { event() })
		}, changeTables},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := own.Number(t.Context(), c.in); err != nil {
				t.Fatal(err)
			}
			ready, done := make(chan struct{}), make(chan error, 1)
			proceed := make(chan struct{})
			go func() {
				done <- c.watch(func() { close(ready) }, func() { <-proceed })
			}()
			<-ready
			c.flood(t, c.in)
			close(proceed)
			if err := <-done; !errors.Is(err, unix.ENOBUFS) {
				t.Errorf("error is %v, expected %v", err, unix.ENOBUFS)
			}
		})
	}
}

func removeRoutes(t *testing.T, h netlinkapi.Handle) {
	t.Helper()
	const n = 30000
	if err := h.AddVeth(t.Context(), "va", "vb"); err != nil {
		t.Fatal(err)
	}
	link := nltest.MustLink(t, h, "va").Index
	if err := h.SetUp(t.Context(), link, true); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := netlinkapi.Route{
			Link: link, Table: netlinkapi.MainTable, Protocol: netlinkapi.ProtocolAgent, Scope: netlinkapi.ScopeLink,
			Dst: netip.MustParsePrefix(fmt.Sprintf("20.%d.%d.%d/32", i>>16, i>>8&255, i&255)),
		}
		if err := errors.Join(h.AddRoute(t.Context(), r), h.DeleteRoute(t.Context(), r)); err != nil {
			t.Fatal(err)
		}
	}
}

// changeTables changes more rules than the kernel keeps notifications of.
func changeTables(t *testing.T, h netlinkapi.Handle) {
	t.Helper()
	const rule = " ip saddr 10.1.2.3 ip daddr 10.3.2.1 tcp dport 80 counter log prefix \"many\" accept\n"
	content := "chain c {\n" + strings.Repeat(rule, 10000) + "}"
	for range 4 {
		err := h.SetNFTable(t.Context(), netlinkapi.NFTable{Family: "ip", Name: "t"}, content)
		if errors.Is(err, netlinkapi.ErrNoProgram) {
			t.Skipf("SKIPPED: lost notifications of nftables are not tested: %v (make deps)", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
