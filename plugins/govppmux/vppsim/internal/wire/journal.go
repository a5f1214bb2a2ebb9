package wire

import (
	"encoding/binary"
	"maps"
	"slices"

	"go.fd.io/govpp/api"
)

// Record is one received request.
type Record struct {
	// Seq counts requests since the start of the server, from 1.
	Seq uint64
	// Client is the index of the client that sent it.
	Client uint32
	// Name is the message's name.
	Name string
	// Context is the sender's context, as received.
	Context uint32
	// Message is the decoded request; nil if it has no binding or was malformed.
	Message api.Message
}

// journal is a ring of the last requests, kept encoded: recording must cost
// nothing against handling.
type journal struct {
	ring []journalSlot
	seq  uint64
}

type journalSlot struct {
	entry   *entry
	client  uint32
	payload []byte
}

func (j *journal) add(e *entry, client uint32, payload []byte) {
	j.seq++
	if len(j.ring) == 0 {
		return
	}
	slot := &j.ring[j.seq%uint64(len(j.ring))]
	slot.entry, slot.client = e, client
	slot.payload = append(slot.payload[:0], payload...)
}

// Journal returns the last requests, oldest first, as many as Config.JournalSize.
func (s *Server) Journal() []Record { return s.JournalAfter(0) }

// JournalAfter returns the records of Journal after the request with a number.
func (s *Server) JournalAfter(seen uint64) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.journal
	n := min(uint64(len(j.ring)), j.seq)
	records := make([]Record, 0, n)
	for seq := max(j.seq-n, seen) + 1; seq <= j.seq; seq++ {
		slot := j.ring[seq%uint64(len(j.ring))]
		r := Record{
			Seq: seq, Client: slot.client, Name: slot.entry.name,
			Context: binary.BigEndian.Uint32(slot.payload[requestContextOffset:]),
		}
		if m := slot.entry.newInstance(); m != nil && decode(m, slot.payload[requestHeader:]) == nil {
			r.Message = m
		}
		records = append(records, r)
	}
	return records
}

// Counts returns how many requests of each name were received, without those that
// were never received.
func (s *Server) Counts() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]uint64)
	for name, e := range s.table.byName {
		if e.count > 0 {
			counts[name] = e.count
		}
	}
	return counts
}

// Messages returns the names in the table, sorted, without the forgotten ones.
func (s *Server) Messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.table.byName))
	return slices.DeleteFunc(names, func(n string) bool { return s.table.byName[n].forgotten })
}
