package wire

import (
	"bytes"
	"encoding/binary"

	"go.fd.io/govpp/binapi/memclnt"
)

// tableNameSize is the size of a name in the message table, NUL padded.
const tableNameSize = 64

// handshake answers sockclnt_create, which has a context but no client index, with
// the client's index and the message table.
func (s *Server) handshake(c *conn, payload []byte) {
	context := binary.BigEndian.Uint32(payload[2:])
	if c.index == 0 {
		c.index = s.freeIndex()
		s.conns[c.index] = c
	}
	name, _, _ := bytes.Cut(payload[requestNameOffset:min(len(payload), requestNameOffset+tableNameSize)], []byte{0})
	c.name = string(name)
	reply := &memclnt.SockclntCreateReply{Index: c.index}
	for _, e := range s.table.rows {
		if e.forgotten || len(e.nameCRC()) >= tableNameSize {
			continue
		}
		reply.MessageTable = append(reply.MessageTable, memclnt.MessageTableEntry{Index: e.id, Name: e.nameCRC()})
	}
	reply.Count = uint16(len(reply.MessageTable))
	c.put(s.table.byName["sockclnt_create_reply"].id, reply, 0, context)
}

// requestNameOffset is where the name of the client is in sockclnt_create: after the
// message ID and the context.
const requestNameOffset = 2 + 4

// ClientNames returns the names of the connected clients, by index; for handlers.
func (s *Server) ClientNames() map[uint32]string {
	names := make(map[uint32]string, len(s.conns))
	for index, c := range s.conns {
		names[index] = c.name
	}
	return names
}

// freeIndex returns the lowest free client index, as VPP's pools do.
func (s *Server) freeIndex() uint32 {
	index := uint32(socketIndexFlag + 1)
	for s.conns[index] != nil {
		index++
	}
	return index
}

// goodbye answers sockclnt_delete; VPP says 1 on success and closes.
func (s *Server) goodbye(c *conn, payload []byte) bool {
	if len(payload) < requestHeader+4 || c.index == 0 {
		return true
	}
	context := binary.BigEndian.Uint32(payload[requestContextOffset:])
	response := int32(-1)
	if binary.BigEndian.Uint32(payload[requestHeader:]) == c.index {
		response = 1
	}
	c.put(s.table.byName["sockclnt_delete_reply"].id, &memclnt.SockclntDeleteReply{Response: response}, context)
	if response != 1 {
		return true
	}
	c.closing()
	s.unregister(c)
	return false
}

// unregister forgets a client; the lock is held.
func (s *Server) unregister(c *conn) {
	if c.index == 0 {
		return
	}
	delete(s.conns, c.index)
	if s.cfg.OnDisconnect != nil {
		s.cfg.OnDisconnect(c.index)
	}
	c.index = 0
}
