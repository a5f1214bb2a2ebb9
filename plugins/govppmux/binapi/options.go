package binapi

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Defaults of Options.
const (
	DefaultSocket         = "/run/vpp/api.sock"
	DefaultClientName     = "tenuto"
	DefaultConnectTimeout = 3 * time.Second
	DefaultReplyTimeout   = time.Second
	DefaultCloseTimeout   = time.Second
	DefaultMaxRequests    = 4096
	DefaultMaxBytes       = 1 << 20
	DefaultMaxMessage     = 64 << 20
	DefaultMaxQueue       = 1 << 30
)

// Options are the settings of a connection. The zero value is usable.
type Options struct {
	// Socket is the path of VPP's API socket.
	Socket string
	// ClientName is shown by VPP ("show api clients"); at most 63 bytes.
	ClientName string
	// ConnectTimeout bounds connecting and the handshake.
	ConnectTimeout time.Duration
	// ReplyTimeout ends the connection when a request whose context has no deadline
	// waits and VPP has answered nothing for this long.
	ReplyTimeout time.Duration
	// CloseTimeout is how long Close waits for VPP to remove the client. VPP may not notice
	// that a client closed its connection without it.
	CloseTimeout time.Duration
	// MaxRequests is how many requests may be in flight, at most 65536.
	MaxRequests int
	// MaxBytes is how many bytes of requests may be in flight; a larger single
	// request is sent alone.
	MaxBytes int
	// MaxMessage is the largest message accepted from VPP, in bytes.
	MaxMessage int
	// MaxQueue bounds the bytes that wait for one slow consumer of a dump, a
	// stream or an event watch. Exceeding it is an error of that consumer.
	MaxQueue int
	// Records counts the records of dumps as they arrive; nil: they are not counted.
	Records *atomic.Uint64
	// Dial opens the transport; nil connects to the unix socket.
	Dial func(ctx context.Context, socket string) (net.Conn, error)
}

func (o Options) withDefaults() (Options, error) {
	setDefault(&o.Socket, DefaultSocket)
	setDefault(&o.ClientName, DefaultClientName)
	setDefault(&o.ConnectTimeout, DefaultConnectTimeout)
	setDefault(&o.ReplyTimeout, DefaultReplyTimeout)
	setDefault(&o.CloseTimeout, DefaultCloseTimeout)
	setDefault(&o.MaxRequests, DefaultMaxRequests)
	setDefault(&o.MaxBytes, DefaultMaxBytes)
	setDefault(&o.MaxMessage, DefaultMaxMessage)
	setDefault(&o.MaxQueue, DefaultMaxQueue)
	if o.Dial == nil {
		o.Dial = dialUnix
	}
	switch {
	case len(o.ClientName) > maxName:
		return o, fmt.Errorf("client name: %d bytes, expected at most %d", len(o.ClientName), maxName)
	case o.MaxRequests < 1 || o.MaxRequests > maxSlots:
		return o, fmt.Errorf("max requests: %d, expected 1 to %d", o.MaxRequests, maxSlots)
	case o.ConnectTimeout < 0 || o.ReplyTimeout < 0 || o.CloseTimeout < 0:
		return o, fmt.Errorf("timeouts: expected positive durations")
	case o.MaxBytes < 0 || o.MaxMessage < 0 || o.MaxQueue < 0:
		return o, fmt.Errorf("size limits: expected positive numbers of bytes")
	}
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func dialUnix(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
