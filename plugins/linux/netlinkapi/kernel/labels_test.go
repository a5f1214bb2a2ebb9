package kernel

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// TestLabels: MPLS labels are encoded as the library encodes them, and are read from the
// messages that they were written to, whether the kernel can use them or not.
func TestLabels(t *testing.T) {
	t.Parallel()
	want, err := (&netlink.MPLSEncap{Labels: []int{100, 1048575}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	var r request
	r.addLabels(unix.RTA_ENCAP_TYPE, unix.RTA_ENCAP, "100/1048575")
	for kind, value := range attributes(r) {
		if kind&^unix.NLA_F_NESTED == unix.RTA_ENCAP && !slices.Equal(value, want) {
			t.Errorf("encoded as % x, expected % x", value, want)
		}
	}
	route := netlinkapi.Route{Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("10.2.0.0/16"), Protocol: netlinkapi.ProtocolAgent}
	hops := []netlinkapi.NextHop{
		{Link: 1, Gateway: netip.MustParseAddr("10.1.0.1"), Weight: 1, Labels: "16/17/18"}, {Link: 2, Weight: 256, OnLink: true}, {Link: 3, Weight: 2, Labels: "0"},
	}
	for n := 1; n <= len(hops); n++ {
		route.SetHops(hops[:n])
		read, ok := parseRoute(routeRequest(netlinkapi.OpAdd, route)[unix.SizeofNlMsghdr:])
		if !ok || !read.Equal(route) {
			t.Errorf("read %+v, expected %+v", read, route)
		}
	}
	object := netlinkapi.Nexthop{ID: 5, NextHop: hops[0], Protocol: netlinkapi.ProtocolAgent}
	object.Weight = 0
	if read, ok := parseNexthop(nexthopRequest(0, object)[unix.SizeofNlMsghdr:]); !ok || !read.Equal(object) {
		t.Errorf("read %+v, expected %+v", read, object)
	}
}
