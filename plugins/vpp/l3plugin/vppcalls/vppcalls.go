// Package vppcalls translates layer 3 operations into messages of the VPP
// binary API, and chooses among the variants of a message which the connected
// VPP knows.
package vppcalls

import (
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/ip"

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
	ops *session.Ops[ops]
}

// ops are the operations that have variants.
type ops struct {
	table session.Op[func(*Calls, ip.IPTable, bool) error]
}

// New returns the layer 3 operations on a VPP.
func New(vpp *session.VPP) *Calls {
	return &Calls{vpp: vpp, ops: session.Per(chooseOps)}
}

func chooseOps(s session.Session) ops { return ops{table: pickTable(s)} }
