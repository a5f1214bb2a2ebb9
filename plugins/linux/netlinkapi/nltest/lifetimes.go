package nltest

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testLifetimes: addresses have the lifetimes that they were given last, and the kernel deletes
// them at the end.
func testLifetimes(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own)
	const long, short = 3600, 1800
	for _, p := range []string{"10.1.0.1/24", "fd00:1::1/64"} {
		a := netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix(p), Agent: true}
		find := func() (found netlinkapi.Address, there bool) {
			addrs, err := own.Addresses(t.Context())
			must(t, err)
			at := slices.IndexFunc(addrs, func(f netlinkapi.Address) bool { return f.Prefix == a.Prefix })
			if at < 0 {
				return found, false
			}
			return addrs[at], true
		}
		for _, c := range []struct{ valid, preferred uint32 }{{long, short}, {long, 0}, {0, 0}, {long, short}} {
			a.Valid, a.Preferred = c.valid, c.preferred
			must(t, own.SetAddress(t.Context(), a))
			if c.preferred == 0 {
				c.preferred = c.valid
			}
			f, _ := find()
			if !near(f.Valid, c.valid) || !near(f.Preferred, c.preferred) || f.Agent != (c.valid != 0) {
				t.Errorf("%s: set %+v, found %+v", p, a, f)
			}
		}
		a.Valid, a.Preferred = 1, 1
		must(t, own.SetAddress(t.Context(), a))
		Poll(t, p+" has expired", func() bool { _, there := find(); return !there })
		a.Valid, a.Preferred = 0, 0
		must(t, own.AddAddress(t.Context(), a))
		expect(t, "add "+p+" again", own.AddAddress(t.Context(), a), netlinkapi.ErrExists)
		must(t, own.DeleteAddress(t.Context(), a))
	}
}

// near reports whether a lifetime is what it was a short while ago.
func near(got, set uint32) bool { return got <= set && (got > set/2 || set == 0) }
