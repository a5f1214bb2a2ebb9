package vppcalls

import (
	"fmt"
	"io"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/codec"
)

// Bits of scanEnableDisable.Mode.
const (
	scanIPv4 = 1 << iota
	scanIPv6
)

// scanEnableDisable is ip_scan_neighbor_enable_disable, which VPP had until 19.08
// (src/vnet/ip/ip.api) and the bindings have no more.
type scanEnableDisable struct {
	Mode, Interval, MaxProcTime, MaxUpdate, Delay, StaleThreshold uint8
}

// GetMessageName implements api.Message.
func (*scanEnableDisable) GetMessageName() string { return "ip_scan_neighbor_enable_disable" }

// GetCrcString implements api.Message.
func (*scanEnableDisable) GetCrcString() string { return "0a6bf57a" }

// GetMessageType implements api.Message.
func (*scanEnableDisable) GetMessageType() api.MessageType { return api.RequestMessage }

// Size is the number of bytes after the header.
func (*scanEnableDisable) Size() int { return 6 }

// Marshal encodes what follows the header, into b if it is not nil.
func (m *scanEnableDisable) Marshal(b []byte) ([]byte, error) {
	if b == nil {
		b = make([]byte, m.Size())
	}
	buf := codec.NewBuffer(b)
	for _, v := range []uint8{m.Mode, m.Interval, m.MaxProcTime, m.MaxUpdate, m.Delay, m.StaleThreshold} {
		buf.EncodeUint8(v)
	}
	return buf.Bytes(), nil
}

// Unmarshal decodes what follows the header.
func (m *scanEnableDisable) Unmarshal(b []byte) error {
	if len(b) < m.Size() {
		return fmt.Errorf("%s: %d bytes, expected %d: %w", m.GetMessageName(), len(b), m.Size(), io.ErrUnexpectedEOF)
	}
	m.Mode, m.Interval, m.MaxProcTime, m.MaxUpdate, m.Delay, m.StaleThreshold = b[0], b[1], b[2], b[3], b[4], b[5]
	return nil
}

// scanEnableDisableReply is the reply to scanEnableDisable.
type scanEnableDisableReply struct{ Retval int32 }

// GetMessageName implements api.Message.
func (*scanEnableDisableReply) GetMessageName() string {
	return "ip_scan_neighbor_enable_disable_reply"
}

// GetCrcString implements api.Message.
func (*scanEnableDisableReply) GetCrcString() string { return "e8d4e804" }

// GetMessageType implements api.Message.
func (*scanEnableDisableReply) GetMessageType() api.MessageType { return api.ReplyMessage }

// Size is the number of bytes after the header.
func (*scanEnableDisableReply) Size() int { return 4 }

// Marshal encodes what follows the header, into b if it is not nil.
func (m *scanEnableDisableReply) Marshal(b []byte) ([]byte, error) {
	if b == nil {
		b = make([]byte, m.Size())
	}
	buf := codec.NewBuffer(b)
	buf.EncodeInt32(m.Retval)
	return buf.Bytes(), nil
}

// Unmarshal decodes what follows the header.
func (m *scanEnableDisableReply) Unmarshal(b []byte) error {
	if len(b) < m.Size() {
		return fmt.Errorf("%s: %d bytes, expected %d: %w", m.GetMessageName(), len(b), m.Size(), io.ErrUnexpectedEOF)
	}
	m.Retval = codec.NewBuffer(b).DecodeInt32()
	return nil
}
