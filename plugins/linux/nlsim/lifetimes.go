package nlsim

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// Addresses with a lifetime expire in real time, but are deleted when the addresses of their
// namespace are read next: the simulator has no goroutines.

// addressOf is an address of a link.
type addressOf struct {
	link   int
	prefix netip.Prefix
}

// limit notes when the lifetimes of an address end.
func (ns *space) limit(a netlinkapi.Address) {
	of := addressOf{a.Link, a.Prefix}
	delete(ns.ends, of)
	if a.Valid != 0 {
		after := func(seconds uint32) time.Time { return time.Now().Add(time.Duration(seconds) * time.Second) }
		ns.ends[of] = addressEnd{after(a.Valid), after(cmp.Or(a.Preferred, a.Valid))}
	}
}

// addressEnd is when the lifetimes of an address end.
type addressEnd struct{ valid, preferred time.Time }

// remaining returns the addresses with what remains of their lifetimes.
func (ns *space) remaining(now time.Time) []netlinkapi.Address {
	all := slices.Clone(ns.addrs)
	left := func(end time.Time) uint32 { return max(uint32(max(end.Sub(now), 0)/time.Second), 1) }
	for i := range all {
		end, limited := ns.ends[addressOf{all[i].Link, all[i].Prefix}]
		if all[i].Agent = all[i].Agent && limited; limited {
			all[i].Valid, all[i].Preferred = left(end.valid), left(end.preferred)
		}
	}
	return all
}

// expire deletes the addresses whose lifetime has ended.
func (ns *space) expire(now time.Time) {
	for of, end := range ns.ends {
		if now.Before(end.valid) {
			continue
		}
		delete(ns.ends, of)
		l := ns.links[of.link]
		if l != nil && slices.ContainsFunc(ns.addrs, sameAddress(netlinkapi.Address{Link: of.link, Prefix: of.prefix})) {
			l.deleteAddress(netlinkapi.Address{Link: of.link, Prefix: of.prefix}, false)
			ns.notify(netlinkapi.Event{Link: of.link})
		}
	}
}
