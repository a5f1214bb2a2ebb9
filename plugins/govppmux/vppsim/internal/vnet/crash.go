package vnet

import (
	"fmt"

	"go.fd.io/govpp/api"
)

// crash refuses a request that crashes VPP, or makes it write into the memory of something else,
// and notes it. No client may send one.
func (n *VNet) crash(i *swInterface, why string) retval {
	n.crashes = append(n.crashes, fmt.Sprintf("%s: %s", i.name(), why))
	return api.UNSPECIFIED
}

// noMAC is crash if an interface has no MAC address. VPP takes the address without a look at the
// class of the interface.
func (n *VNet) noMAC(i *swInterface, what string) (rv retval, crashes bool) {
	if i == nil || i.hw.ethernet {
		return ok, false
	}
	return n.crash(i, what+" on an interface without MAC address"), true
}

// Crashes returns what crashes VPP among the requests so far.
func (n *VNet) Crashes() []string { return n.crashes }
