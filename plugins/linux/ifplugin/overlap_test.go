package ifplugin_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

// TestOverlappingAddresses: addresses of one network, on one interface or on two, are all there. With the
// first IPv4 address of a network the kernel deletes the others of it: they return.
func TestOverlappingAddresses(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		x := veth("x", "y", "", "10.1.0.1/24", "10.1.0.2/24", "10.1.0.1/16", "10.1.0.3/24", "fd00:1::1/64", "fd00:1::2/64")
		y := veth("y", "x", "", "10.1.0.9/24", "fd00:1::9/64")
		must(t, a.Apply(x, y))
		own := w.Open(t, "")
		there := func(host string, all ...string) bool {
			return !slices.ContainsFunc(all, func(p string) bool { return !hasAddress(t, own, host, p) })
		}
		if !there("h-x", x.GetIpAddresses()...) || !there("h-y", y.GetIpAddresses()...) {
			t.Error("not all addresses are there")
		}
		unchanged(t, a, x, y)
		fewer := proto.CloneOf(x)
		fewer.IpAddresses = fewer.GetIpAddresses()[1:]
		must(t, a.Apply(fewer))
		a.Quiet("the other addresses are there", func() bool {
			return there("h-x", fewer.GetIpAddresses()...) && a.State("linux/interface/x/address/static/10.1.0.3/24").GetState() == configured &&
				a.State("linux/interface/x/address/static/10.1.0.2/24").GetState() == configured
		})
		if there("h-x", "10.1.0.1/24") {
			t.Error("the deleted address is there")
		}
		unchanged(t, a, fewer, y)
		twice := proto.CloneOf(x)
		twice.IpAddresses = append(twice.IpAddresses, "FD00:1:0::2/64")
		if text := linuxtest.ErrorText(a.Apply(twice)); !strings.Contains(text, `ip_addresses[6]: "FD00:1:0::2/64" is there twice`) {
			t.Errorf("error is %q", text)
		}
	})
}

// TestAddressThatExists: an address that another program has assigned and that is the desired one is no
// error.
func TestAddressThatExists(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", "", "10.1.0.1/24"), veth("y", "x", "")
		must(t, a.Apply(x, y))
		other := w.Foreign(t, "")
		more := proto.CloneOf(x)
		for _, p := range []string{"10.2.0.1/24", "fd00:2::1/64"} {
			must(t, other.AddAddress(t.Context(), netlinkapi.Address{Link: expectLink(t, other, "h-x").Index, Prefix: netip.MustParsePrefix(p)}))
			more.IpAddresses = append(more.IpAddresses, p)
		}
		must(t, a.Apply(more))
		a.Expect(configured, more)
		a.ExpectKey(configured, "linux/interface/x/address/static/10.2.0.1/24")
		unchanged(t, a, more, y)
	})
}
