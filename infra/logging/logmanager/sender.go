package logmanager

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

const (
	// queued is how many entries wait for the server; more are dropped.
	queued = 1024
	// sendTimeout bounds connecting and sending an entry.
	sendTimeout = 3 * time.Second
	// firstPause and longestPause are those between attempts to connect.
	firstPause, longestPause = 100 * time.Millisecond, 30 * time.Second
)

// sender sends entries to a server. Whoever logs never waits for it.
type sender struct {
	name, network, address string
	levels                 []logging.Level
	encoder                encoder
	queue                  chan logging.Entry
	dropped                atomic.Uint64
	conn                   net.Conn
}

func newSender(name, network, address string, levels []logging.Level, encoder encoder) *sender {
	return &sender{name: name, network: network, address: address, levels: levels, encoder: encoder, queue: make(chan logging.Entry, queued)}
}

// hook queues an entry.
func (s *sender) hook(e logging.Entry) {
	if !slices.Contains(s.levels, e.Level) {
		return
	}
	select {
	case s.queue <- e:
	default:
		s.dropped.Add(1)
	}
}

// run sends what is queued until ctx ends, and then the rest, if the server takes
// it. While it cannot be reached entries wait, and log is told once.
func (s *sender) run(ctx context.Context, log logging.Logger) {
	defer s.disconnect()
	for {
		select {
		case e := <-s.queue:
			if !s.deliver(ctx, e, log) {
				return
			}
		case <-ctx.Done():
			for len(s.queue) > 0 {
				if s.send(ctx, <-s.queue) != nil {
					return
				}
			}
			return
		}
	}
}

// deliver sends an entry, if need be again and again; false if ctx has ended before.
func (s *sender) deliver(ctx context.Context, e logging.Entry, log logging.Logger) bool {
	pause := firstPause
	for attempt := 0; ; attempt++ {
		err := s.send(ctx, e)
		if err == nil {
			if n := s.dropped.Swap(0); n > 0 || attempt > 1 {
				log.Warn("log entries are sent again", "hook", s.name, "address", s.address, "dropped", n)
			}
			return true
		}
		if attempt == 1 { // the first failure may be that of an old connection
			log.Warn("log entries cannot be sent, they wait", "hook", s.name, "address", s.address, "error", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

// send sends an entry, over a new connection if there is none.
func (s *sender) send(ctx context.Context, e logging.Entry) error {
	if s.conn == nil {
		conn, err := s.dial(ctx)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	err := s.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	if err == nil {
		_, err = s.conn.Write(s.encoder(s.network, e))
	}
	if err != nil {
		s.disconnect()
	}
	return err
}

// dial connects; a unix socket may be one for datagrams or for a stream.
func (s *sender) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: sendTimeout}
	ctx = context.WithoutCancel(ctx) // the rest is sent at the end
	if s.network != "unix" {
		return d.DialContext(ctx, s.network, s.address)
	}
	conn, err := d.DialContext(ctx, "unixgram", s.address)
	if err == nil {
		return conn, nil
	}
	conn, err2 := d.DialContext(ctx, "unix", s.address)
	if err2 != nil {
		return nil, errors.Join(err, err2)
	}
	return conn, nil
}

func (s *sender) disconnect() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}
