// Package ikev2msg has messages of VPP's plugin for IKEv2 that the generated bindings lack: those
// of VPP 26.06, which have a pseudo-random function in addition, and answers whose identities are
// read as bytes. The bindings take them for text, which ends at the first zero, as addresses have.
package ikev2msg

import (
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ikev2"
)

// Positions of fields.
const (
	identitySize    = 66 // type, length, 64 bytes
	profileIDs      = 64
	profilePRF      = 319
	transformsPRF   = 70
	associationIDs  = 517
	identityContent = 2
)

// SetIkeTransforms is the request of VPP 26.06.
type SetIkeTransforms struct {
	ikev2.Ikev2SetIkeTransforms
	PRF uint8
}

// GetCrcString implements api.Message.
func (*SetIkeTransforms) GetCrcString() string { return "aa99fec0" }

// GetMessageName implements api.Message. As in the bindings, the methods that describe a message
// work on nil pointers.
func (*SetIkeTransforms) GetMessageName() string { return "ikev2_set_ike_transforms" }

// GetMessageType implements api.Message.
func (*SetIkeTransforms) GetMessageType() api.MessageType { return api.RequestMessage }

// Size returns the number of bytes.
func (m *SetIkeTransforms) Size() int { return m.Ikev2SetIkeTransforms.Size() + 1 }

// Marshal encodes the message.
func (m *SetIkeTransforms) Marshal(b []byte) ([]byte, error) {
	plain, err := m.Ikev2SetIkeTransforms.Marshal(nil)
	return with(b, plain, transformsPRF, m.PRF), err
}

// Unmarshal decodes the message; it panics if b is too short, as the generated methods do.
func (m *SetIkeTransforms) Unmarshal(b []byte) error {
	m.PRF = b[transformsPRF]
	return m.Ikev2SetIkeTransforms.Unmarshal(without(b, transformsPRF))
}

// ProfileDetails is a profile, up to VPP 26.02.
type ProfileDetails struct {
	ikev2.Ikev2ProfileDetails
	// LocalID and RemoteID are the identities.
	LocalID, RemoteID []byte
}

// GetCrcString implements api.Message.
func (*ProfileDetails) GetCrcString() string { return "670d01d9" }

// GetMessageName implements api.Message.
func (*ProfileDetails) GetMessageName() string { return "ikev2_profile_details" }

// GetMessageType implements api.Message.
func (*ProfileDetails) GetMessageType() api.MessageType { return api.ReplyMessage }

// Unmarshal decodes the message; it panics if b is too short, as the generated methods do.
func (m *ProfileDetails) Unmarshal(b []byte) error {
	m.LocalID, m.RemoteID = identities(b, profileIDs)
	return m.Ikev2ProfileDetails.Unmarshal(b)
}

// ProfileDetailsV2606 is a profile of VPP 26.06.
type ProfileDetailsV2606 struct {
	ProfileDetails
	PRF uint8
}

// GetCrcString implements api.Message.
func (*ProfileDetailsV2606) GetCrcString() string { return "3e3e895b" }

// GetMessageName implements api.Message.
func (*ProfileDetailsV2606) GetMessageName() string { return "ikev2_profile_details" }

// GetMessageType implements api.Message.
func (*ProfileDetailsV2606) GetMessageType() api.MessageType { return api.ReplyMessage }

// Size returns the number of bytes.
func (m *ProfileDetailsV2606) Size() int { return m.ProfileDetails.Size() + 1 }

// Marshal encodes the message, with the identities of the embedded one.
func (m *ProfileDetailsV2606) Marshal(b []byte) ([]byte, error) {
	plain, err := m.ProfileDetails.Marshal(nil)
	return with(b, plain, profilePRF, m.PRF), err
}

// Unmarshal decodes the message; it panics if b is too short, as the generated methods do.
func (m *ProfileDetailsV2606) Unmarshal(b []byte) error {
	m.PRF = b[profilePRF]
	return m.ProfileDetails.Unmarshal(without(b, profilePRF))
}

// SADetails is a security association of the key exchange.
type SADetails struct {
	ikev2.Ikev2SaDetails
	// InitiatorID and ResponderID are the identities.
	InitiatorID, ResponderID []byte
}

// GetCrcString implements api.Message.
func (*SADetails) GetCrcString() string { return "937c22d5" }

// GetMessageName implements api.Message.
func (*SADetails) GetMessageName() string { return "ikev2_sa_details" }

// GetMessageType implements api.Message.
func (*SADetails) GetMessageType() api.MessageType { return api.ReplyMessage }

// Unmarshal decodes the message; it panics if b is too short, as the generated methods do.
func (m *SADetails) Unmarshal(b []byte) error {
	m.InitiatorID, m.ResponderID = identities(b, associationIDs)
	return m.Ikev2SaDetails.Unmarshal(b)
}

// identities reads two identities that begin at a position.
func identities(b []byte, at int) (first, second []byte) {
	read := func(at int) []byte {
		length := min(int(b[at+1]), identitySize-identityContent)
		return slices.Clone(b[at+identityContent:][:length])
	}
	return read(at), read(at + identitySize)
}

// with copies plain into b, or into a new slice, with a byte in addition.
func with(b, plain []byte, at int, value uint8) []byte {
	if b == nil {
		b = make([]byte, len(plain)+1)
	}
	copy(b, plain[:at])
	b[at] = value
	copy(b[at+1:], plain[at:])
	return b
}

func without(b []byte, at int) []byte { return slices.Concat(b[:at], b[at+1:]) }
