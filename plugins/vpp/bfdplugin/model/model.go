// Package model places BFD sessions of VPP and what belongs to them in the key space.
package model

import (
	"net/netip"

	"github.com/tenuto-dev/tenuto/infra/models"
	bfd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/bfd"
)

// AuthKeyModel is the model of keys.
var AuthKeyModel = models.Of[*bfd.AuthKey]()

// SessionModel is the model of sessions.
var SessionModel = models.Of[*bfd.Session]()

// EchoSourceModel is the model of the source of echo packets.
var EchoSourceModel = models.Of[*bfd.EchoSource]()

// StateKey reports the state of a session, which VPP reports. Exactly one of its keys exists for
// a session.
var StateKey = models.MustKeyTemplate("vpp/bfd/{iface}/peer/{address}/state/{state}")

// States of a session.
const (
	AdminDown = "ADMIN_DOWN"
	Down      = "DOWN"
	Init      = "INIT"
	Up        = "UP"
)

// StateKeyFor returns the key that exists while the session with a peer has a state.
func StateKeyFor(iface string, peer netip.Addr, state string) string {
	return StateKey.Key(iface, peer.String(), state)
}
