package binapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"sync"
	"sync/atomic"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/memclnt"
)

// Client has the methods of a connection that users of VPP need. Conn is one; so is the
// connection of govppmux, which outlives the single session.
type Client interface {
	// NewStream, Invoke and WatchEvent carry the generated RPC clients.
	api.Connection
	// Call sends a request, waits for the reply and checks its retval.
	Call(ctx context.Context, req, reply api.Message) error
	// Send sends a request without waiting for the reply.
	Send(ctx context.Context, req, reply api.Message) Future
	// Dump sends a ..._dump request and calls each for every record.
	Dump(ctx context.Context, req api.Message, newRecord func() api.Message, each func(api.Message) error) error
	// Page sends a ..._get request, calls each for every record and fills last
	// with the reply that ends them.
	Page(ctx context.Context, req, last api.Message, newRecord func() api.Message, each func(api.Message) error) error
	// Has reports whether VPP knows the message by name and CRC.
	Has(msg api.Message) bool
}

// Conn is a connection to one VPP. All methods may be called concurrently. It
// does not reconnect: after Done only Drain and Close are useful.
type Conn struct {
	opts        Options
	nc          net.Conn
	table       *Table
	clientIndex uint32
	ping        *msgType
	pingReplyID uint16

	mu       sync.Mutex // guards the fields down to sweeping; taken before slot.mu
	toWrite  sync.Cond  // signals unsent bytes, or the end, to the writer
	unsent   []byte     // frames not yet taken by the writer
	seq      uint64     // requests encoded so far
	window   window
	ended    error // nil while connected
	closed   bool  // the transport is closed
	sweeping bool

	drain drain
	gone  chan struct{} // closed with the transport

	slots    []slot
	slotBits uint
	takenSeq atomic.Uint64 // requests handed to the socket
	reader   readerState

	// The clock of the reply timeout: ticks of the sweeper.
	tick      atomic.Int64
	progress  atomic.Int64  // tick of the last message that answers a request
	answered  atomic.Uint64 // highest seq that got a message
	sweepWake chan struct{}

	messages *messageCounts

	dumps   dumpConn
	watches watchSet
	calls   sync.Pool
	stats   counters
	done    chan struct{}
	wg      sync.WaitGroup
}

var _ Client = (*Conn)(nil)

// Dial connects to VPP, registers as a client and reads its message table.
// ctx bounds only that.
func Dial(ctx context.Context, opts Options) (*Conn, error) {
	return dialFor(ctx, opts, nil)
}

// dialFor is Dial, for the second connection of main if that is not nil.
func dialFor(ctx context.Context, opts Options, main *Conn) (*Conn, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("connect to VPP: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, opts.ConnectTimeout)
	defer cancel()
	nc, err := opts.Dial(ctx, opts.Socket)
	if err != nil {
		return nil, fmt.Errorf("connect to VPP: %w", err)
	}
	c, err := open(ctx, nc, opts, main)
	if err != nil {
		nc.Close() // has happened already if it took too long
		return nil, fmt.Errorf("connect to VPP at %s: %w", opts.Socket, err)
	}
	return c, nil
}

// open does the handshake on a fresh transport and starts the connection.
func open(ctx context.Context, nc net.Conn, opts Options, main *Conn) (*Conn, error) {
	fr := newFrameReader(nc, opts.MaxMessage)
	index, ids, err := handshakeContextually(ctx, nc, fr, opts.ClientName)
	if err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	c := newConn(nc, opts)
	c.dumps.main = main
	c.table, c.clientIndex = newTable(ids), index
	c.countMessages(main)
	if err := c.findPing(); err != nil {
		return nil, err
	}
	c.wg.Go(func() { c.readLoop(fr) })
	c.wg.Go(c.writeLoop)
	c.wg.Go(c.sweepLoop)
	return c, nil
}

// newConn makes a connection without its goroutines.
func newConn(nc net.Conn, opts Options) *Conn {
	c := &Conn{
		opts: opts, nc: nc,
		slots:     make([]slot, opts.MaxRequests),
		slotBits:  uint(bits.Len(uint(opts.MaxRequests - 1))),
		sweepWake: make(chan struct{}, 1),
		done:      make(chan struct{}),
		drain:     drain{finished: make(chan struct{})},
		gone:      make(chan struct{}),
	}
	c.toWrite.L = &c.mu
	c.dumps.turn = make(chan struct{}, 1)
	c.window.init(opts)
	c.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
	return c
}

// handshakeContextually bounds the blocking handshake by ctx.
func handshakeContextually(ctx context.Context, nc net.Conn, fr *frameReader, name string) (uint32, map[string]uint16, error) {
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	index, ids, err := handshake(nc, fr, name)
	if !stop() && ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	return index, ids, err
}

// findPing resolves control_ping, which ends dumps.
func (c *Conn) findPing() error {
	ping, err := c.table.typeOf((*memclnt.ControlPing)(nil))
	if err != nil {
		return err
	}
	reply, err := c.table.typeOf((*memclnt.ControlPingReply)(nil))
	if err != nil {
		return err
	}
	if !ping.known || !reply.known {
		return fmt.Errorf("%w: control_ping_%s", ErrUnknownMessage, ping.crc)
	}
	c.ping, c.pingReplyID = ping, reply.id
	return nil
}

// Table returns the message table of the connected VPP.
func (c *Conn) Table() *Table { return c.table }

// Has reports whether the connected VPP knows the message by name and CRC.
func (c *Conn) Has(msg api.Message) bool { return c.table.Has(msg) }

// HasName reports whether the connected VPP knows a message of that name, with any CRC.
func (c *Conn) HasName(name string) bool { return c.table.byName[name] != "" }

// Done is closed when the connection ends.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil while connected, then why the connection ended; errors.Is
// finds ErrDisconnected in it.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Close ends the connection, fails everything pending and waits for the
// goroutines of the connection, and up to Options.CloseTimeout for VPP to remove the client. It
// may be called more than once, but not from a function that Dump calls.
func (c *Conn) Close() (err error) {
	c.end(ErrClosed)
	var dumps sync.WaitGroup
	dumps.Go(func() { err = c.dumps.close() })
	c.leave()
	c.fail(ErrClosed)
	c.wg.Wait()
	dumps.Wait()
	return err
}

// fail ends the connection and closes its transport, once; everything pending fails
// at once.
func (c *Conn) fail(cause error) {
	if errors.Is(cause, io.EOF) {
		cause = errClosedByVPP
	}
	c.end(cause)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed, c.unsent = true, nil
	c.toWrite.Broadcast()
	c.mu.Unlock()
	_ = c.nc.Close() // the connection has ended; its error does not matter
	close(c.gone)
	c.drain.finish()
}

// end ends the connection for its users, once; everything pending fails at once, before
// Done is closed. The transport stays open.
func (c *Conn) end(cause error) {
	err := disconnected(cause)
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return
	}
	c.ended = err
	c.unsent = nil
	c.mu.Unlock()

	c.dumps.end(cause)
	taken := c.takenSeq.Load()
	for i := range c.slots {
		s := &c.slots[i]
		s.mu.Lock()
		if s.context != 0 {
			sent := s.seq <= taken
			if sent {
				c.drain.unanswered.Store(true)
			}
			s.end(&RequestError{Message: s.info.name, Sent: sent, Err: err})
			c.stats.disconnected.Add(1)
		}
		s.mu.Unlock()
	}
	close(c.done)
	c.watches.end(err)
}
