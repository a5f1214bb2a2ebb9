// Package vppcalls translates layer 2 operations into messages of the VPP
// binary API, and chooses among the variants of a message which the connected
// VPP knows.
package vppcalls

import (
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// none is the index that stands for no interface and for all bridge domains.
const none = ^uint32(0)

// MAC is an Ethernet address.
type MAC = ethernet_types.MacAddress

type ifIndex = interface_types.InterfaceIndex

// Calls are the layer 2 operations. All methods may be called concurrently.
// Errors name the message and what VPP answered.
type Calls struct {
	vpp *session.VPP
}

// Operations are the layer 2 operations.
var Operations = session.Operations{addDelBridgeDomain, members, connect}

// New returns the layer 2 operations on a VPP.
func New(vpp *session.VPP) *Calls {
	return &Calls{vpp}
}
