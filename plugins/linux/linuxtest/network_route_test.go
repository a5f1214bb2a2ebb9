package linuxtest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// The route to the network of an IPv6 address ends when the lifetime of the address does, also if the
// address had none before.
func TestNetworkRouteOfLifetime(t *testing.T) {
	w := nltest.Kernel(t) // skips
	a := linuxtest.Start(t, w)
	x := &interfaces.Interface{Name: "x", Type: interfaces.Interface_VETH, Enabled: true, IpAddresses: []string{"fd00:1::1/64"},
		Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: "y"}}}
	y := &interfaces.Interface{Name: "y", Type: interfaces.Interface_VETH, Enabled: true,
		Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: "x"}}}
	route := func() string {
		t.Helper()
		text, err := inside(t, w, "own", "ip", "-6", "route", "show", "fd00:1::/64")
		must(t, err)
		return text
	}
	must(t, a.Apply(x, y))
	if text := route(); text == "" || strings.Contains(text, "expires") {
		t.Errorf("the route of an address without lifetime is %q", text)
	}
	x = proto.CloneOf(x)
	x.AddressLifetimes = []*interfaces.AddressLifetime{{Address: "fd00:1::1/64", Valid: 3600}}
	must(t, a.Apply(x))
	if text := route(); !strings.Contains(text, "expires 3") {
		t.Errorf("the route of an address with a lifetime of 3600 seconds is %q", text)
	}
	x = proto.CloneOf(x)
	x.IpAddresses, x.AddressLifetimes = nil, nil
	must(t, a.Apply(x))
	if text := route(); text != "" {
		t.Errorf("the route of an address that was removed is %q", text)
	}
}
