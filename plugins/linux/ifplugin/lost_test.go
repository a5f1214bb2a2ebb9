package ifplugin_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// pairWithRoute is a cable into a namespace with a route behind it.
func pairWithRoute() (x, y, route proto.Message) {
	return veth("x", "y", "ns1", "10.1.0.1/24"), veth("y", "x", "", "10.1.0.2/24"),
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.9.0.0/24", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL}
}

func hasRoute(t *testing.T, h netlinkapi.Handle, dst string) bool {
	t.Helper()
	routes, err := h.Routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		if r.Dst == netip.MustParsePrefix(dst) {
			return true
		}
	}
	return false
}

func find(ctx context.Context, h netlinkapi.Handle, name string) (netlinkapi.Link, bool) {
	l, err := h.LinkByName(ctx, name)
	return l, err == nil
}

// A link that another process deletes, moves or renames is created again at once,
// with all that stood on it.
func TestLostLinkIsCreatedAgain(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		for _, c := range []struct {
			what string
			lose func(t *testing.T, own, inside netlinkapi.Handle)
		}{
			{"deleted", func(t *testing.T, own, _ netlinkapi.Handle) {
				must(t, own.DeleteLink(t.Context(), expectLink(t, own, "h-y").Index))
			}},
			{"deleted in its namespace", func(t *testing.T, _, in netlinkapi.Handle) {
				must(t, in.DeleteLink(t.Context(), expectLink(t, in, "h-x").Index))
			}},
			{"moved", func(t *testing.T, own, _ netlinkapi.Handle) {
				must(t, own.Move(t.Context(), expectLink(t, own, "h-y").Index, w.Make(t, "elsewhere")))
			}},
		} {
			t.Run(c.what, func(t *testing.T) {
				own := w.Open(t, "")
				a := linuxtest.Start(t, w)
				x, y, route := pairWithRoute()
				must(t, a.Apply(x, y, route))
				a.Expect(configured, x, y, route)
				inside := w.Open(t, "ns1")
				before, there := expectLink(t, own, "h-y"), expectLink(t, inside, "h-x")

				c.lose(t, own, inside)
				a.Quiet("both ends exist again", func() bool {
					near, ok1 := find(t.Context(), own, "h-y")
					far, ok2 := find(t.Context(), inside, "h-x")
					return ok1 && ok2 && near.Index != before.Index && far.Index != there.Index &&
						a.State(linuxtest.Key(t, route)).GetState() == configured
				})
				a.Expect(configured, x, y, route)
				if !hasAddress(t, own, "h-y", "10.1.0.2/24") || !hasAddress(t, inside, "h-x", "10.1.0.1/24") || !hasRoute(t, inside, "10.9.0.0/24") {
					t.Error("addresses or the route are missing")
				}
				unchanged(t, a, x, y, route)
				must(t, a.Delete(x, y, route))
				a.Stop()
			})
		}
	})
}

// A link under another name is not the one that was asked for.
func TestRenamedLinkIsLost(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		x, y, route := pairWithRoute()
		must(t, a.Apply(x, y, route))
		index := expectLink(t, own, "h-y").Index
		must(t, own.SetUp(t.Context(), index, false))
		must(t, own.Rename(t.Context(), index, "stolen"))
		a.Quiet("the link has its name again", func() bool {
			_, ok := find(t.Context(), own, "h-y")
			return ok && a.State(linuxtest.Key(t, y)).GetState() == configured && a.State(linuxtest.Key(t, route)).GetState() == configured
		})
		expectNoLink(t, own, "stolen")
		unchanged(t, a, x, y, route)
	})
}

// An address that another process removes is added again, in any namespace.
func TestLostAddressIsAddedAgain(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		x, y, route := pairWithRoute()
		must(t, a.Apply(x, y, route))
		inside := w.Open(t, "ns1")
		a.Quiet("both are followed", func() bool { return len(a.Interfaces.States().List()) == 2 })
		for _, at := range []struct {
			h            netlinkapi.Handle
			link, prefix string
		}{{own, "h-y", "10.1.0.2/24"}, {inside, "h-x", "10.1.0.1/24"}} {
			must(t, at.h.DeleteAddress(t.Context(), netlinkapi.Address{Link: expectLink(t, at.h, at.link).Index, Prefix: netip.MustParsePrefix(at.prefix)}))
			a.Quiet("the address is there again", func() bool { return hasAddress(t, at.h, at.link, at.prefix) })
		}
		a.Quiet("so is the route that stood on it", func() bool {
			return hasRoute(t, inside, "10.9.0.0/24") && a.State(linuxtest.Key(t, route)).GetState() == configured
		})
		unchanged(t, a, x, y, route)
	})
}

// What the agent itself removes is no loss.
func TestOwnDeletionIsNoLoss(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		x, y, route := pairWithRoute()
		for range 5 {
			must(t, a.Apply(x, y, route))
			must(t, a.Delete(y))
			must(t, a.Apply(y))
			must(t, a.Delete(x, y, route))
		}
		makeDevice(t, own, "mark")
		a.Quiet("the kernel has reported everything", exists(a, "linux/interface/host-name/mark"))
		for _, txn := range a.GetTransactionHistory(time.Time{}, time.Time{}) {
			if strings.Contains(txn.Description, "lost") {
				t.Errorf("transaction %d: %s", txn.SeqNum, txn.Description)
			}
		}
		expectLinks(t, own, "mark", "mark-p")
	})
}
