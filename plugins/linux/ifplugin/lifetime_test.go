package ifplugin_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// addressOn returns an address of a link; false if it is not there.
func addressOn(t *testing.T, h netlinkapi.Handle, host, prefix string) (netlinkapi.Address, bool) {
	t.Helper()
	link := expectLink(t, h, host).Index
	all, err := h.Addresses(t.Context())
	must(t, err)
	at := slices.IndexFunc(all, func(a netlinkapi.Address) bool { return a.Link == link && a.Prefix == netip.MustParsePrefix(prefix) })
	if at < 0 {
		return netlinkapi.Address{}, false
	}
	return all[at], true
}

// limited are two ends of a pair; the first has addresses with and without a lifetime.
func limited() (x, y *interfaces.Interface) {
	x, y = veth("x", "y", "", "10.1.0.1/24", "FD00:1::1/64", "10.2.0.1/24"), veth("y", "x", "")
	x.AddressLifetimes = []*interfaces.AddressLifetime{
		{Address: "10.1.0.1/24", Valid: 3600, Preferred: 1800}, {Address: "fd00:1:0::1/64", Valid: 3600},
	}
	return x, y
}

// TestLifetimes: addresses have the lifetimes of the configuration, which the kernel counts down. A
// restart does not begin them again; another lifetime is set in place.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		x, y := limited()
		must(t, a.Apply(x, y))
		own := w.Open(t, "")
		is := func(prefix string, valid, preferred bool) {
			t.Helper()
			if found, there := addressOn(t, own, "h-x", prefix); !there || (found.Valid != 0) != valid || (found.Preferred != 0) != preferred {
				t.Errorf("address is %+v, %t; expected limits %t and %t", found, there, valid, preferred)
			}
		}
		is("10.1.0.1/24", true, true)
		is("fd00:1::1/64", true, true)
		is("10.2.0.1/24", false, false)
		first, _ := addressOn(t, own, "h-x", "10.1.0.1/24")
		must(t, own.SetAddress(t.Context(), netlinkapi.Address{Link: first.Link, Prefix: first.Prefix, Valid: 900, Preferred: 300, Agent: true})) // later
		unchanged(t, a, x, y)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, x, y)
		if now, _ := addressOn(t, own, "h-x", "10.1.0.1/24"); now.Valid > 900 {
			t.Errorf("address is %+v: its lifetime began again", now)
		}

		changed := proto.CloneOf(x)
		changed.AddressLifetimes = []*interfaces.AddressLifetime{{Address: "10.1.0.1/24"}, {Address: "10.2.0.1/24", Valid: 3600, Preferred: 1800}}
		must(t, a.Apply(changed))
		if ops := a.Executed(); len(ops) != 3 || slices.ContainsFunc(ops, func(op string) bool { return !strings.HasPrefix(op, "UPDATE linux/interface/x/address/") }) {
			t.Errorf("operations are %v, expected three updates of addresses", ops)
		}
		is("10.1.0.1/24", false, false)
		is("fd00:1::1/64", false, false)
		is("10.2.0.1/24", true, true)
		unchanged(t, a, changed, y)
		must(t, own.SetAddress(t.Context(), netlinkapi.Address{Link: first.Link, Prefix: first.Prefix, Valid: 900})) // by another process
		must(t, a.Resync(changed, y))
		is("10.1.0.1/24", false, false)
	})
}

// TestExpiredAddress: an address that has expired fails with the time and is not assigned again
// until it is asked for.
func TestExpiredAddress(t *testing.T) {
	t.Parallel()
	for what, again := range map[string]func(a *linuxtest.Agent, x, y *interfaces.Interface) error{
		"resync": func(a *linuxtest.Agent, x, y *interfaces.Interface) error { return a.Resync(x, y) },
		"change": func(a *linuxtest.Agent, x, _ *interfaces.Interface) error {
			x = proto.CloneOf(x)
			x.AddressLifetimes[0].Valid, x.AddressLifetimes[0].Preferred = 3000, 0
			return a.Apply(x)
		},
	} {
		t.Run(what, func(t *testing.T) {
			nltest.Run(t, func(t *testing.T, w *nltest.World) {
				a := linuxtest.Start(t, w)
				x, y := limited()
				x.AddressLifetimes[0].Valid, x.AddressLifetimes[0].Preferred = 1, 1
				must(t, a.Apply(x, y))
				const key = "linux/interface/x/address/static/10.1.0.1/24"
				own := w.Open(t, "")
				a.Quiet("the address has expired", func() bool {
					_, there := addressOn(t, own, "h-x", "10.1.0.1/24")
					return !there && a.State(key).GetState() == kvscheduler.ValueState_FAILED
				})
				if text := a.State(key).GetError(); !strings.Contains(text, "the lifetime of the address ended at 20") {
					t.Errorf("error is %q", text)
				}
				if _, there := addressOn(t, own, "h-x", "fd00:1::1/64"); !there {
					t.Error("the other address is gone")
				}
				x.AddressLifetimes[0].Valid = 3600
				must(t, again(a, x, y))
				a.ExpectKey(configured, key)
				if found, there := addressOn(t, own, "h-x", "10.1.0.1/24"); !there || found.Valid == 0 {
					t.Errorf("address is %+v, %t", found, there)
				}
			})
		})
	}
}

// TestForeignLifetimes: addresses that another program assigned for a time stay, of IPv4 and of IPv6;
// those that the agent assigned for a time and that are no longer in the configuration go, also after a restart.
func TestForeignLifetimes(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		state := t.TempDir()
		a := linuxtest.StartIn(t, w, state)
		x, y := limited()
		must(t, a.Apply(x, y))
		own := w.Open(t, "")
		for _, p := range []string{"10.7.0.1/24", "fd00:7::1/64"} {
			must(t, own.AddAddress(t.Context(), netlinkapi.Address{Link: expectLink(t, own, "h-x").Index, Prefix: netip.MustParsePrefix(p), Valid: 3600}))
		}
		unchanged(t, a, x, y)
		a.Stop()
		a = linuxtest.StartIn(t, w, state)
		fewer := proto.CloneOf(x)
		fewer.IpAddresses, fewer.AddressLifetimes = fewer.IpAddresses[2:], nil
		must(t, a.Resync(fewer, y))
		for p, want := range map[string]bool{"10.7.0.1/24": true, "fd00:7::1/64": true, "10.2.0.1/24": true, "10.1.0.1/24": false, "fd00:1::1/64": false} {
			if _, there := addressOn(t, own, "h-x", p); there != want {
				t.Errorf("address %s: %t, expected %t", p, there, want)
			}
		}
		routes, err := own.Routes(t.Context())
		must(t, err)
		for _, r := range routes {
			if r.Dst == netip.MustParsePrefix("fd00:1::/64") {
				t.Errorf("the route to the network of an address with a lifetime stays: %+v", r)
			}
		}
	})
}

func TestValidateLifetimes(t *testing.T) {
	t.Parallel()
	d := descriptor.NewInterface(descriptor.Deps{Label: linuxtest.Label, Log: logging.Nop()})
	for want, lifetimes := range map[string][]*interfaces.AddressLifetime{
		"":                               {{Address: "10.1.0.1/24", Valid: 10, Preferred: 10}, {Address: "fd00:1:0::1/64", Valid: 5}},
		"address_lifetimes[0].address":   {{Address: "10.1.0.1/25", Valid: 10}},
		"address_lifetimes[1].address":   {{Address: "fd00:1::1/64", Valid: 10}, {Address: "fd00:1:0::1/64", Valid: 10}},
		"address_lifetimes[0].preferred": {{Address: "10.1.0.1/24", Valid: 10, Preferred: 11}},
		"[0].preferred":                  {{Address: "10.1.0.1/24", Preferred: 11}},
		"address_lifetimes[0]":           {{Address: "10.1.0.1/24", Valid: 1<<32 - 1}},
	} {
		x, _ := limited()
		x.AddressLifetimes = lifetimes
		err := d.Validate(linuxtest.Key(t, x), x)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error is %v, expected one about %q", lifetimes, err, want)
		}
	}
	x, _ := limited()
	x.LinkOnly = true
	if err := d.Validate(linuxtest.Key(t, x), x); err == nil || !strings.Contains(err.Error(), "link_only") {
		t.Errorf("error is %v", err)
	}
}
