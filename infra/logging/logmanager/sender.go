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
	// queued is the capacity of the queue; further entries are dropped.
	queued = 1024
	// sendTimeout is the timeout of connecting and of sending an entry.
	sendTimeout = 3 * time.Second
	// firstPause and longestPause limit the delays between attempts to connect.
	firstPause, longestPause = 100 * time.Millisecond, 30 * time.Second
)

// sender sends entries to a server. It never blocks the caller of a logger.
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

// run sends queued entries until ctx ends, and then the rest, if the server
// accepts it. While the server cannot be reached, entries stay in the queue, and
// run logs one warning.
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

// deliver sends an entry, with retries if necessary. It returns false if ctx has
// ended before.
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
		if attempt == 1 { // the first failure may be caused by a stale connection
			log.Warn("cannot send log entries; queueing them", "hook", s.name, "address", s.address, "error", err)
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

// dial connects; a unix socket may be a datagram or a stream socket.
func (s *sender) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: sendTimeout}
	ctx = context.WithoutCancel(ctx) // the remaining entries are sent at the end
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
