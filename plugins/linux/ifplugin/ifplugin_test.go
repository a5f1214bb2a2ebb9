package ifplugin_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	configured    = kvscheduler.ValueState_CONFIGURED
	pending       = kvscheduler.ValueState_PENDING
	obtained      = kvscheduler.ValueState_OBTAINED
	missing       = kvscheduler.ValueState_NONEXISTENT
	failed        = kvscheduler.ValueState_FAILED
	bad           = kvscheduler.ValueState_INVALID
	unimplemented = kvscheduler.ValueState_UNIMPLEMENTED
)

// named is a reference to a named namespace; "" is the agent's own.
func named(name string) *namespace.NetNamespace {
	if name == "" {
		return nil
	}
	return &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: name}
}

// veth is an enabled end of a pair.
func veth(name, peer, ns string, addrs ...string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_VETH, Namespace: named(ns), Enabled: true, IpAddresses: addrs,
		HostIfName: "h-" + name,
		Link:       &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: peer}},
	}
}

func expectLink(t *testing.T, h netlinkapi.Handle, name string) netlinkapi.Link {
	t.Helper()
	return nltest.MustLink(t, h, name)
}

func expectNoLink(t *testing.T, h netlinkapi.Handle, name string) {
	t.Helper()
	if _, err := h.LinkByName(t.Context(), name); !errors.Is(err, netlinkapi.ErrNotFound) {
		t.Errorf("link %q: got error %v, expected that there is none", name, err)
	}
}

// expectLinks checks that these and only these links are in a namespace,
// besides lo.
func expectLinks(t *testing.T, h netlinkapi.Handle, names ...string) {
	t.Helper()
	links, err := h.Links(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range links {
		if !l.Loopback {
			got = append(got, l.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("links are %v, expected %v", got, names)
	}
}

func hasAddress(t *testing.T, h netlinkapi.Handle, link, prefix string) bool {
	t.Helper()
	l := nltest.MustLink(t, h, link)
	addrs, err := h.Addresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(addrs, func(a netlinkapi.Address) bool {
		return a.Link == l.Index && a.Prefix == netip.MustParsePrefix(prefix)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unchanged checks that reading everything again finds nothing to do.
func unchanged(t *testing.T, a *linuxtest.Agent, values ...proto.Message) {
	t.Helper()
	must(t, a.Resync(values...))
	if ops := a.Executed(); len(ops) != 0 {
		t.Errorf("a resync without changes did %v", ops)
	}
}

// The two ends of a pair wait for each other, come up together in whatever
// namespaces they belong to, and go together.
func TestVethPair(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		x, y := veth("x", "y", "", "10.1.0.1/24", "fd00:1::1/64"), veth("y", "x", "left", "10.1.0.2/24")
		x.Mtu, x.PhysAddress = 1400, "02:00:00:00:00:77"

		must(t, a.Apply(x))
		a.Expect(pending, x)
		expectLinks(t, own)

		must(t, a.Apply(y))
		a.Expect(configured, x, y)
		left := w.Open(t, "left")
		expectLinks(t, own, "h-x")
		expectLinks(t, left, "h-y")
		if l := expectLink(t, own, "h-x"); !l.Up || l.MTU != 1400 || l.MAC.String() != x.PhysAddress || l.Alias != "/vnf-agent/test/x/y" {
			t.Errorf("link is %+v", l)
		}
		for _, addr := range x.IpAddresses {
			if !hasAddress(t, own, "h-x", addr) {
				t.Errorf("h-x does not have %s", addr)
			}
		}
		unchanged(t, a, x, y)

		must(t, a.Delete(y))
		a.Expect(pending, x)
		expectLinks(t, own)
		expectLinks(t, left)

		must(t, a.Apply(y))
		a.Expect(configured, x, y)
		must(t, a.Delete(x, y))
		expectLinks(t, own)
		expectLinks(t, left)
	})
}

// The kernel makes addresses of router advertisements. They stay.
func TestAddressOfRouterAdvertisement(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		if w.Sim == nil {
			t.Skip("NOT CHECKED HERE: no router advertises; examples/scenarios/router-advertisement has one")
		}
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", "", "fd00:1::1/64"), veth("y", "x", "")
		must(t, a.Apply(x, y))
		own := w.Open(t, "")
		must(t, own.AddAddress(t.Context(), netlinkapi.Address{
			Link: expectLink(t, own, "h-x").Index, Prefix: netip.MustParsePrefix("fd00:2::1/64"), Valid: 3600,
		}))
		unchanged(t, a, x, y)
		if !hasAddress(t, own, "h-x", "fd00:2::1/64") {
			t.Error("the address is gone")
		}
	})
}

// What can be changed in place is, without taking the link down.
func TestVethUpdate(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", ""), veth("y", "x", "right")
		x.IpAddresses = []string{"10.1.0.1/24"}
		must(t, a.Apply(x, y))
		right := w.Open(t, "right")
		own := w.Open(t, "")
		index := expectLink(t, own, "h-x").Index

		x = proto.CloneOf(x)
		x.HostIfName, x.Mtu, x.PhysAddress = "renamed", 9000, "02:00:00:00:00:99"
		x.IpAddresses = []string{"10.1.0.1/24", "10.9.0.1/16"}
		x.GetVeth().TxChecksumOffloading = interfaces.VethLink_CHKSM_OFFLOAD_DISABLED
		must(t, a.Apply(x))
		l := expectLink(t, own, "renamed")
		if l.Index != index || l.MTU != 9000 || l.MAC.String() != x.PhysAddress || !l.Up {
			t.Errorf("link is %+v", l)
		}
		if !hasAddress(t, own, "renamed", "10.1.0.1/24") || !hasAddress(t, own, "renamed", "10.9.0.1/16") {
			t.Error("addresses are not as wanted")
		}
		expectSysctl(t, own, "renamed", netlinkapi.OffloadParameter(netlinkapi.OffloadTXChecksum), 0)
		unchanged(t, a, x, y)

		x = proto.CloneOf(x)
		x.Mtu, x.Enabled = 0, false
		must(t, a.Apply(x))
		if l := expectLink(t, own, "renamed"); l.Up || l.MTU != 1500 {
			t.Errorf("link is %+v, expected down with the default MTU", l)
		}
		a.ExpectKey(obtainedOrConfigured(a, ifmodel.StateKeyFor("x", false)), ifmodel.StateKeyFor("x", false))

		y = proto.CloneOf(y)
		y.Namespace = named("elsewhere")
		must(t, a.Apply(y))
		a.Expect(configured, x, y)
		expectLinks(t, right)
		expectLinks(t, w.Open(t, "elsewhere"), "h-y")
		unchanged(t, a, x, y)
	})
}

// obtainedOrConfigured: properties are shown in the state of their kind.
func obtainedOrConfigured(a *linuxtest.Agent, key string) api.ValueState {
	if s := a.State(key).GetState(); s == obtained || s == configured {
		return s
	}
	return configured
}

// Links of others are neither reported nor touched, whatever they are called.
func TestForeignLinks(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		must(t, own.AddVeth(t.Context(), "h-x", "foreign"))
		must(t, own.SetAlias(t.Context(), expectLink(t, own, "foreign").Index, "another/x/y"))
		a := linuxtest.Start(t, w)
		must(t, a.Resync())
		expectLinks(t, own, "h-x", "foreign")

		x, y := veth("x", "y", ""), veth("y", "x", "left")
		err := a.Apply(x, y)
		if text := linuxtest.ErrorText(err); !strings.Contains(text, `"h-x" is taken`) {
			t.Errorf("got %q, expected that the name is taken", text)
		}
		expectLinks(t, own, "h-x", "foreign")
		must(t, a.Delete(x, y))
		expectLinks(t, own, "h-x", "foreign")
	})
}
