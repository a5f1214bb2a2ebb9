// Package model places IKEv2 of VPP in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
)

// GlobalModel is the model of the settings of all profiles.
var GlobalModel = models.Of[*ikev2.Global]()

// ProfileModel is the model of profiles.
var ProfileModel = models.Of[*ikev2.Profile]()

// StateKey reports the state of a profile that VPP has. Exactly one of its keys exists for a profile.
var StateKey = models.MustKeyTemplate("vpp/ikev2/{profile}/state/{state}")

// States of a profile.
const (
	// Down: there is no security association.
	Down = "DOWN"
	// Connecting: the peers do not have keys for packets, or the peer has refused them.
	Connecting = "CONNECTING"
	// Established: there are keys for packets.
	Established = "ESTABLISHED"
)

// LocalKeyKey exists while VPP has a private key of the configuration. Profiles with certificates
// wait for it.
const LocalKeyKey = "vpp/ikev2/local-key"
