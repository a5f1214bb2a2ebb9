package descriptor

import (
	"fmt"
	"sync"
	"time"

	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// The kernel counts the lifetimes of addresses down, so that what is read differs from what was
// set. All that is compared is which of the two lifetimes are limited. An address that has expired
// would be created again like a lost one: create refuses that once, so that it fails until it is
// asked for again.

// limits are the lifetimes of an address, in seconds; 0: forever.
type limits struct{ valid, preferred uint32 }

// lifetimeOf returns the lifetimes in the part of an interface that belongs to one address.
func lifetimeOf(part *interfaces.Interface) limits {
	if len(part.GetAddressLifetimes()) == 0 {
		return limits{}
	}
	return limitsOf(part.GetAddressLifetimes()[0])
}

func limitsOf(l *interfaces.AddressLifetime) limits {
	if l.GetPreferred() == 0 {
		return limits{l.GetValid(), l.GetValid()}
	}
	return limits{l.GetValid(), l.GetPreferred()}
}

// lifetimesFor returns the lifetime of an address of an interface; none if it exists forever.
func lifetimesFor(v *interfaces.Interface, addr string) []*interfaces.AddressLifetime {
	for _, l := range v.GetAddressLifetimes() {
		if addressKey(v.GetName(), l.GetAddress()) == addressKey(v.GetName(), addr) && limitsOf(l) != (limits{}) {
			return []*interfaces.AddressLifetime{l}
		}
	}
	return nil
}

// lifetimes returns the lifetime of an address that was read: the wanted one, if the address is
// limited as that says.
func lifetimes(text string, a netlinkapi.Address, wanted []*interfaces.AddressLifetime) []*interfaces.AddressLifetime {
	want := lifetimeOf(&interfaces.Interface{AddressLifetimes: wanted})
	if (want.valid != 0) == (a.Valid != 0) && (want.preferred != 0) == (a.Preferred != 0) {
		return wanted
	}
	return []*interfaces.AddressLifetime{{Address: text, Valid: a.Valid, Preferred: a.Preferred}}
}

func checkLifetimes(v *interfaces.Interface) error {
	has, seen := map[string]bool{}, map[string]bool{}
	for _, addr := range v.GetIpAddresses() {
		has[addressKey(v.GetName(), addr)] = true
	}
	for i, l := range v.GetAddressLifetimes() {
		field := fmt.Sprintf("address_lifetimes[%d]", i)
		key := addressKey(v.GetName(), l.GetAddress())
		switch {
		case v.GetLinkOnly():
			return invalid(field, "not allowed with link_only, which leaves addresses to other programs")
		case !has[key]:
			return invalid(field+".address", "%q; expected one of ip_addresses", l.GetAddress())
		case seen[key]:
			return invalid(field+".address", "%q is there twice", l.GetAddress())
		case l.GetPreferred() > l.GetValid():
			return invalid(field+".preferred", "%d; expected at most valid (%d)", l.GetPreferred(), l.GetValid())
		}
		seen[key] = true
	}
	return nil
}

// expiryMargin is how much earlier than expected an address may expire: the kernel counts in
// seconds.
const expiryMargin = time.Second

// Lifetimes knows when the addresses of the configuration expire. The methods of nil do nothing;
// all may be called concurrently.
type Lifetimes struct {
	mu   sync.Mutex
	ends map[string]time.Time // by key
}

// NewLifetimes returns one without addresses.
func NewLifetimes() *Lifetimes { return &Lifetimes{ends: map[string]time.Time{}} }

// begin notes that an address exists for so many seconds from now; 0: forever, or no longer.
func (l *Lifetimes) begin(key string, valid uint32) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ends, key)
	if valid != 0 {
		l.ends[key] = time.Now().Add(time.Duration(valid) * time.Second)
	}
}

// takeExpired returns when an address has expired, and forgets it; false if it has not.
func (l *Lifetimes) takeExpired(key string) (at time.Time, expired bool) {
	if l == nil {
		return at, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := l.ends[key]
	if !known || time.Until(at) > expiryMargin {
		return at, false
	}
	delete(l.ends, key)
	return at, true
}

// addressInKey returns the address in the key of an address.
func addressInKey(key string) string {
	_, text, _, _ := ifmodel.ParseAddressKey(key)
	return text
}
