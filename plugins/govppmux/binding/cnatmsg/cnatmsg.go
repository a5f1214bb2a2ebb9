// Package cnatmsg has the messages of CNAT that some releases of VPP know under another CRC
// than the generated bindings: with the messages of package ikev2msg, these are the only messages
// of the items whose layout or enums changed without a new name.
package cnatmsg

import (
	"fmt"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/cnat"
)

// SetSnatPolicy is cnat_set_snat_policy since 26.06, with one policy more.
type SetSnatPolicy struct{ cnat.CnatSetSnatPolicy }

// GetMessageName returns the name, of a nil pointer too.
func (*SetSnatPolicy) GetMessageName() string { return (*cnat.CnatSetSnatPolicy)(nil).GetMessageName() }

// GetCrcString returns the CRC.
func (*SetSnatPolicy) GetCrcString() string { return "37a3ce23" }

// GetMessageType returns the type, of a nil pointer too.
func (*SetSnatPolicy) GetMessageType() api.MessageType { return api.RequestMessage }

// SnatPolicyAddDelIf is cnat_snat_policy_add_del_if before 23.10, without the table of hosts.
type SnatPolicyAddDelIf struct{ cnat.CnatSnatPolicyAddDelIf }

// GetMessageName returns the name, of a nil pointer too.
func (*SnatPolicyAddDelIf) GetMessageName() string {
	return (*cnat.CnatSnatPolicyAddDelIf)(nil).GetMessageName()
}

// GetCrcString returns the CRC.
func (*SnatPolicyAddDelIf) GetCrcString() string { return "6828deca" }

// GetMessageType returns the type, of a nil pointer too.
func (*SnatPolicyAddDelIf) GetMessageType() api.MessageType { return api.RequestMessage }

// TranslationUpdate is cnat_translation_update before 24.02, without the configuration of the
// hash of flows.
type TranslationUpdate struct{ cnat.CnatTranslationUpdate }

// GetMessageName returns the name, of a nil pointer too.
func (*TranslationUpdate) GetMessageName() string {
	return (*cnat.CnatTranslationUpdate)(nil).GetMessageName()
}

// GetCrcString returns the CRC.
func (*TranslationUpdate) GetCrcString() string { return "cd5aedf5" }

// GetMessageType returns the type, of a nil pointer too.
func (*TranslationUpdate) GetMessageType() api.MessageType { return api.RequestMessage }

// Size returns the number of bytes that Marshal returns.
func (m *TranslationUpdate) Size() int { return m.CnatTranslationUpdate.Size() - hashSize }

// Marshal encodes the message.
func (m *TranslationUpdate) Marshal(b []byte) ([]byte, error) {
	full, err := m.CnatTranslationUpdate.Marshal(nil)
	return withoutHash(b, full), err
}

// Unmarshal decodes the message.
func (m *TranslationUpdate) Unmarshal(b []byte) error {
	full, err := withHash(b)
	if err != nil {
		return err
	}
	return m.CnatTranslationUpdate.Unmarshal(full)
}

// TranslationDetails is cnat_translation_details before 24.02.
type TranslationDetails struct{ cnat.CnatTranslationDetails }

// GetMessageName returns the name, of a nil pointer too.
func (*TranslationDetails) GetMessageName() string {
	return (*cnat.CnatTranslationDetails)(nil).GetMessageName()
}

// GetCrcString returns the CRC.
func (*TranslationDetails) GetCrcString() string { return "347e1f16" }

// GetMessageType returns the type, of a nil pointer too.
func (*TranslationDetails) GetMessageType() api.MessageType { return api.ReplyMessage }

// Size returns the number of bytes that Marshal returns.
func (m *TranslationDetails) Size() int { return m.CnatTranslationDetails.Size() - hashSize }

// Marshal encodes the message.
func (m *TranslationDetails) Marshal(b []byte) ([]byte, error) {
	full, err := m.CnatTranslationDetails.Marshal(nil)
	return withoutHash(b, full), err
}

// Unmarshal decodes the message.
func (m *TranslationDetails) Unmarshal(b []byte) error {
	full, err := withHash(b)
	if err != nil {
		return err
	}
	return m.CnatTranslationDetails.Unmarshal(full)
}

// A cnat_translation has the hash of flows between the number of paths and the paths.
const hashOffset, hashSize = 36, 4

// withoutHash copies all but the hash of flows to b, or to a new slice if b is nil.
func withoutHash(b, full []byte) []byte {
	if b == nil {
		b = make([]byte, len(full)-hashSize)
	}
	copy(b[copy(b, full[:hashOffset]):], full[hashOffset+hashSize:])
	return b
}

func withHash(b []byte) ([]byte, error) {
	if len(b) < hashOffset {
		return nil, fmt.Errorf("%d bytes, expected a translation of at least %d", len(b), hashOffset)
	}
	full := append(make([]byte, 0, len(b)+hashSize), b[:hashOffset]...)
	return append(append(full, make([]byte, hashSize)...), b[hashOffset:]...), nil
}
