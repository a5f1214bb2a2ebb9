package binapi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// The handshake messages of memclnt.api, whose IDs are fixed in VPP.
const (
	sockclntCreateID      = 15
	sockclntCreateReplyID = 16

	// maxName is the longest name in VPP's 64-byte, NUL padded name fields.
	maxName        = 63
	nameField      = 64
	tableEntrySize = 2 + nameField
	// handshakeHeader: u16 id, u32 client_index, u32 context, i32 response,
	// u32 index, u16 count.
	handshakeHeader  = 20
	handshakeContext = 1
)

// appendHandshake appends the framed sockclnt_create request: u16 id, u32
// context, char name[64]; it has no client_index.
func appendHandshake(b []byte, name string) []byte {
	const size = 2 + 4 + nameField
	at := len(b)
	b = append(b, make([]byte, frameHeader+size)...)
	putFrameHeader(b[at:], size)
	p := b[at+frameHeader:]
	binary.BigEndian.PutUint16(p, sockclntCreateID)
	binary.BigEndian.PutUint32(p[2:], handshakeContext)
	copy(p[6:6+maxName], name)
	return b
}

// parseHandshake reads a sockclnt_create_reply: the client index to be used in
// all requests, and the message table.
func parseHandshake(p []byte) (clientIndex uint32, entries map[string]uint16, err error) {
	if len(p) < handshakeHeader {
		return 0, nil, fmt.Errorf("%w: handshake reply of %d bytes, expected at least %d", ErrProtocol, len(p), handshakeHeader)
	}
	if id := binary.BigEndian.Uint16(p); id != sockclntCreateReplyID {
		return 0, nil, fmt.Errorf("%w: handshake answered by message %d, expected %d", ErrProtocol, id, sockclntCreateReplyID)
	}
	if response := int32(binary.BigEndian.Uint32(p[10:])); response != 0 {
		return 0, nil, fmt.Errorf("VPP refused the client: response %d", response)
	}
	clientIndex = binary.BigEndian.Uint32(p[14:])
	count := int(binary.BigEndian.Uint16(p[18:]))
	rest := p[handshakeHeader:]
	if len(rest) < count*tableEntrySize {
		return 0, nil, fmt.Errorf("%w: message table of %d bytes for %d entries", ErrProtocol, len(rest), count)
	}
	entries = make(map[string]uint16, count)
	for i := range count {
		e := rest[i*tableEntrySize : (i+1)*tableEntrySize]
		name, _, _ := bytes.Cut(e[2:], []byte{0})
		if len(name) == 0 {
			return 0, nil, fmt.Errorf("%w: message table entry %d has no name", ErrProtocol, i)
		}
		entries[string(name)] = binary.BigEndian.Uint16(e)
	}
	return clientIndex, entries, nil
}

// handshake registers the client and returns what VPP answered.
func handshake(rw io.Writer, fr *frameReader, name string) (uint32, map[string]uint16, error) {
	if _, err := rw.Write(appendHandshake(nil, name)); err != nil {
		return 0, nil, err
	}
	p, err := fr.next()
	if err != nil {
		return 0, nil, err
	}
	return parseHandshake(p)
}
