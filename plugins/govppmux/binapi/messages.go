package binapi

import "sync/atomic"

// messageCounts counts messages by ID. The connection of dumps shares the counts of the
// main one.
type messageCounts struct{ sent, received []atomic.Uint64 }

func newMessageCounts(t *Table) *messageCounts {
	return &messageCounts{make([]atomic.Uint64, len(t.names)), make([]atomic.Uint64, len(t.names))}
}

// countMessages prepares the counters.
func (c *Conn) countMessages(main *Conn) {
	if main != nil && len(main.table.names) == len(c.table.names) { // the messages of one VPP
		c.messages = main.messages
		return
	}
	c.messages = newMessageCounts(c.table)
}

func count(of []atomic.Uint64, id uint16) {
	if int(id) < len(of) {
		of[id].Add(1)
	}
}

// Messages returns how many messages of each kind were sent and received, by their names
// without the CRC. Pings that end lists are not counted.
func (c *Conn) Messages() (sent, received map[string]uint64) {
	named := func(of []atomic.Uint64) map[string]uint64 {
		counts := map[string]uint64{}
		for id := range of {
			if n := of[id].Load(); n > 0 {
				counts[withoutCRC(c.table.Name(uint16(id)))] += n
			}
		}
		return counts
	}
	return named(c.messages.sent), named(c.messages.received)
}
