// Package vppcalls translates layer 3 operations into messages of the VPP
// binary API, and chooses among the variants of a message which the connected
// VPP knows.
package vppcalls

import (
	"go.fd.io/govpp/binapi/ethernet_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// NoInterface is the index that stands for no interface.
const NoInterface = ^uint32(0)

// MAC is an Ethernet address.
type MAC = ethernet_types.MacAddress

// Calls are the layer 3 operations. All methods may be called concurrently.
// Errors name the message and what VPP answered.
type Calls struct {
	vpp *session.VPP
}

// Operations are the layer 3 operations.
var Operations = session.Operations{readLimits, addDelRoute, addDelTable, vrrps, vrrpPeers}

// New returns the layer 3 operations on a VPP.
func New(vpp *session.VPP) *Calls {
	return &Calls{vpp}
}

// Flag converts a flag that VPP has as a number.
func Flag(set bool) uint8 {
	if set {
		return 1
	}
	return 0
}
