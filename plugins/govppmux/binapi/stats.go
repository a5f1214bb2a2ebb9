package binapi

import "sync/atomic"

// Stats are counters of one connection since it was opened.
type Stats struct {
	// Requests sent or queued for sending, and messages received for them.
	Requests, Replies uint64
	// Timeouts are requests ended by the reply timeout; Disconnected are those
	// pending when the connection ended.
	Timeouts, Disconnected uint64
	// Late are messages received for requests that had ended.
	Late uint64
	// Events received, watched or not.
	Events uint64
	// Waits is how often a caller had to wait for a place in the window.
	Waits uint64
	// Batches is the number of writes to the socket.
	Batches uint64
	// BytesOut and BytesIn include the frame headers.
	BytesOut, BytesIn uint64
	// InFlight is the number of requests without a reply now.
	InFlight int
}

type counters struct {
	replies, timeouts, disconnected, late, events atomic.Uint64
	waits, batches, bytesOut, bytesIn             atomic.Uint64
}

// Stats returns the counters of the connection, including the connection of
// dumps. The counters of received messages lag behind by the batch being read.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	requests, inFlight := c.seq, len(c.slots)-c.window.n
	c.mu.Unlock()
	return plus(Stats{
		Requests: requests, InFlight: inFlight,
		Replies: c.stats.replies.Load(), Timeouts: c.stats.timeouts.Load(),
		Disconnected: c.stats.disconnected.Load(), Late: c.stats.late.Load(),
		Events: c.stats.events.Load(), Waits: c.stats.waits.Load(),
		Batches: c.stats.batches.Load(), BytesOut: c.stats.bytesOut.Load(), BytesIn: c.stats.bytesIn.Load(),
	}, c.dumps.stats())
}

func plus(a, b Stats) Stats {
	return Stats{
		Requests: a.Requests + b.Requests, Replies: a.Replies + b.Replies,
		Timeouts: a.Timeouts + b.Timeouts, Disconnected: a.Disconnected + b.Disconnected,
		Late: a.Late + b.Late, Events: a.Events + b.Events, Waits: a.Waits + b.Waits,
		Batches: a.Batches + b.Batches, BytesOut: a.BytesOut + b.BytesOut, BytesIn: a.BytesIn + b.BytesIn,
		InFlight: a.InFlight + b.InFlight,
	}
}
