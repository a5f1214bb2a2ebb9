// Package vppcalls translates layer 2 operations into messages of the VPP
// binary API, and chooses among the variants of a message which the connected
// VPP knows.
package vppcalls

import (
	"context"

	"go.fd.io/govpp/binapi/ethernet_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// none is the index that stands for no interface and for all bridge domains.
const none = ^uint32(0)

// MAC is an Ethernet address.
type MAC = ethernet_types.MacAddress

// Calls are the layer 2 operations. All methods may be called concurrently.
// Errors name the message and what VPP answered.
type Calls struct {
	vpp *session.VPP
	ops *session.Ops[ops]
}

// ops are the operations that have variants, and what is known in a session.
type ops struct {
	bridgeDomain session.Op[func(*Calls, context.Context, uint32, BridgeDomain, bool) error]
	ids          session.Op[*idPool]
	places       session.Op[*places]
}

// New returns the layer 2 operations on a VPP.
func New(vpp *session.VPP) *Calls {
	return &Calls{vpp: vpp, ops: session.Per(chooseOps)}
}

func chooseOps(s session.Session) ops {
	return ops{
		bridgeDomain: pickBridgeDomain(s),
		ids:          session.Pick(s, "bridge domain numbers", session.Variant(&idPool{})),
		places:       session.Pick(s, "members", session.Variant(newPlaces())),
	}
}
