package binapi

import (
	"encoding/binary"
	"fmt"
	"sync"
)

const (
	firstChunk = 4 << 10
	nextChunk  = 64 << 10
)

// mailbox queues copies of messages between the reading goroutine, which never
// waits, and a consumer. Messages are kept end to end in chunks, each behind
// its length.
type mailbox struct {
	mu    sync.Mutex
	full  [][]byte
	last  []byte
	size  int
	max   int
	ended bool
	err   error
	ready chan struct{} // holds one token after each change
}

func newMailbox(maxBytes int) *mailbox {
	return &mailbox{max: maxBytes, ready: make(chan struct{}, 1)}
}

// put queues a message; it returns false if the mailbox has ended.
func (m *mailbox) put(payload []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return false
	}
	n := 4 + len(payload)
	if m.size+n > m.max {
		m.endLocked(fmt.Errorf("%d bytes not consumed: %w of %d", m.size+n, ErrTooLarge, m.max))
		return false
	}
	if cap(m.last)-len(m.last) < n {
		m.grow(n)
	}
	m.last = binary.NativeEndian.AppendUint32(m.last, uint32(len(payload)))
	m.last = append(m.last, payload...)
	m.size += n
	m.notify()
	return true
}

func (m *mailbox) grow(n int) {
	size := firstChunk
	if m.last != nil {
		size = nextChunk
		m.full = append(m.full, m.last)
	}
	m.last = make([]byte, 0, max(size, n))
}

// end makes the consumer stop after the queued messages, with err if not nil.
func (m *mailbox) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endLocked(err)
}

func (m *mailbox) endLocked(err error) {
	if !m.ended {
		m.ended, m.err = true, err
		m.notify()
	}
}

func (m *mailbox) notify() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take returns everything queued; ended and err are final.
func (m *mailbox) take() (chunks [][]byte, ended bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	chunks = m.full
	if len(m.last) > 0 {
		chunks = append(chunks, m.last)
	}
	m.full, m.last, m.size = nil, nil, 0
	return chunks, m.ended, m.err
}

// eachMessage calls f for every message in the chunks of a mailbox.
func eachMessage(chunks [][]byte, f func(payload []byte) error) error {
	for _, chunk := range chunks {
		for len(chunk) > 0 {
			n := binary.NativeEndian.Uint32(chunk)
			if err := f(chunk[4 : 4+n]); err != nil {
				return err
			}
			chunk = chunk[4+n:]
		}
	}
	return nil
}
