package l3plugin_test

import (
	"io"
	"net/netip"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// TestIPv6Gateway: a route of IPv4 with a gateway of IPv6 waits until the gateway can be reached, is
// found again by the next agent, changed in place, and created again when another process deletes it.
func TestIPv6Gateway(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		single := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"10.50.0.1/32","gwAddr":"FD00:1::2","scope":"GLOBAL"}`)
		link6 := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"10.51.0.0/16","gwAddr":"fe80::7","scope":"GLOBAL","table":77}`)
		several := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"10.52.0.0/16","gwAddr":"10.1.0.2","scope":"GLOBAL",
			"nextHops":[{"outgoingInterface":"x","gwAddr":"fd00:1::2","weight":3},{"outgoingInterface":"x","gwAddr":"fd00:9::1","onLink":true}]}`)
		four := pair()
		x, y := four[0].(*interfaces.Interface), four[1].(*interfaces.Interface)
		x.IpAddresses = x.IpAddresses[:1]
		y.IpAddresses = append(y.IpAddresses, "10.50.0.1/32")
		must(t, a.Apply(x, y, single, link6, several))
		a.Expect(configured, link6)
		a.Expect(pending, single, several)
		x = pair()[0].(*interfaces.Interface)
		all := []proto.Message{x, y, single, link6, several}
		must(t, a.Apply(x))
		a.Expect(configured, all[2:]...)
		is := func(dst string, gateways ...string) {
			t.Helper()
			var got []string
			for _, r := range to(t, own, dst) {
				for _, h := range r.Hops() {
					got = append(got, h.Gateway.String())
				}
			}
			if slices.Sort(got); !slices.Equal(got, gateways) {
				t.Errorf("the gateways of %s are %v, expected %v", dst, got, gateways)
			}
		}
		is("10.50.0.1/32", "fd00:1::2")
		is("10.51.0.0/16", "fe80::7")
		is("10.52.0.0/16", "10.1.0.2", "fd00:1::2", "fd00:9::1")
		unchanged(t, a, all...)
		if w.Sim == nil {
			converse(t, own, w.Open(t, "left"), "10.50.0.1")
		}
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, all...)

		changed := proto.CloneOf(single)
		changed.GwAddr = "10.1.0.2"
		must(t, a.Apply(changed))
		is("10.50.0.1/32", "10.1.0.2")
		must(t, a.Apply(single))
		if ops := a.Executed(); !slices.Equal(ops, []string{"UPDATE " + linuxtest.Key(t, single)}) {
			t.Errorf("operations are %v, expected one update", ops)
		}
		is("10.50.0.1/32", "fd00:1::2")
		remove(t, own, "10.50.0.1/32")
		a.Quiet("the route is there again", func() bool { return len(to(t, own, "10.50.0.1/32")) == 1 })
		is("10.50.0.1/32", "fd00:1::2")
		must(t, a.Delete(single, link6, several))
		is("10.50.0.1/32")
		is("10.51.0.0/16")
		is("10.52.0.0/16")
	})
}

// TestIPv6GatewayTakenOver: a route of another process with the same gateway of IPv6 is taken over.
func TestIPv6GatewayTakenOver(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		must(t, a.Apply(pair()...))
		must(t, w.Foreign(t, "").AddRoute(t.Context(), netlinkapi.Route{
			Link: link(t, own, "x"), Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("10.50.0.0/16"),
			Gateway: netip.MustParseAddr("fd00:1::2"), Protocol: netlinkapi.ProtocolStatic,
		}))
		v := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"10.50.0.0/16","gwAddr":"fd00:1::2","scope":"GLOBAL"}`)
		must(t, a.Apply(v))
		if found := to(t, own, "10.50.0.0/16"); len(found) != 1 || found[0].Gateway.String() != "fd00:1::2" {
			t.Errorf("routes are %+v", found)
		}
		unchanged(t, a, append(pair(), v)...)
	})
}

// converse sends a text from one namespace to an address in another, and back.
func converse(t *testing.T, from, in netlinkapi.Handle, addr string) {
	t.Helper()
	listener, err := in.Listen(t.Context(), "tcp4", addr+":7777")
	must(t, err)
	defer listener.Close()
	go func() {
		if c, err := listener.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	c, err := from.Dial(t.Context(), "tcp4", addr+":7777")
	must(t, err)
	defer c.Close()
	_, err = c.Write([]byte("hello"))
	must(t, err)
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Errorf("received %q, %v", got, err)
	}
}
