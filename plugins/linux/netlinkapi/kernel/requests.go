package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel handles several requests of one message to it, in their order. That saves most of
// the time of small requests. Only the last one asks for an acknowledgement: the kernel reports
// the errors of all.

// maxRequests is how many requests one message has. Their errors fit into the receive buffer.
const maxRequests = 64

// request is a request to the kernel, as it is sent.
type request []byte

// newRequest begins a request. Its header is completed by exchange.
func newRequest(kind, flags int, header []byte) request {
	r := make(request, unix.SizeofNlMsghdr, 128)
	binary.NativeEndian.PutUint16(r[4:], uint16(kind))
	binary.NativeEndian.PutUint16(r[6:], uint16(flags|unix.NLM_F_REQUEST))
	return append(r, header...)
}

// add adds an attribute.
func (r *request) add(kind uint16, value []byte) {
	*r = appendAttribute(*r, kind, value)
}

// appendAttribute adds an attribute to others; it is aligned to 4 bytes.
func appendAttribute(all []byte, kind uint16, value []byte) []byte {
	all = binary.NativeEndian.AppendUint16(all, uint16(unix.SizeofRtAttr+len(value)))
	all = binary.NativeEndian.AppendUint16(all, kind)
	all = append(all, value...)
	for len(all)%4 != 0 {
		all = append(all, 0)
	}
	return all
}

// exchange sends requests that have no reply but an error, and returns the errors, one for each.
func (ns *namespace) exchange(requests []request) []error {
	errs := make([]error, 0, len(requests))
	for some := range slices.Chunk(requests, maxRequests) {
		errs = append(errs, ns.exchangeSome(some)...)
	}
	return errs
}

func (ns *namespace) exchangeSome(requests []request) []error {
	socket := ns.links.Socket
	socket.Lock()
	defer socket.Unlock()
	errs := make([]error, len(requests))
	last := atomic.AddUint32(&ns.links.Seq, uint32(len(requests)))
	first := last - uint32(len(requests)) + 1
	var message []byte
	for i, r := range requests {
		binary.NativeEndian.PutUint32(r, uint32(len(r)))
		binary.NativeEndian.PutUint32(r[8:], first+uint32(i))
		if i == len(requests)-1 {
			flags := binary.NativeEndian.Uint16(r[6:])
			binary.NativeEndian.PutUint16(r[6:], flags|unix.NLM_F_ACK)
		}
		message = append(message, r...)
	}
	fd, next := socket.GetFd(), 0
	err := os.NewSyscallError("sendto", unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	for err == nil && next < len(errs) {
		next, err = ns.collect(fd, first, errs, next)
	}
	for i := next; i < len(errs); i++ {
		errs[i] = err
	}
	return errs
}

// collect receives one message, and fills in the errors of requests: the first of them has a
// sequence number. It returns up to which of them the errors are known; next is that before.
func (ns *namespace) collect(fd int, first uint32, errs []error, next int) (int, error) {
	data, err := ns.reply(fd)
	if err != nil {
		return next, err
	}
	replies, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		return next, fmt.Errorf("reply of the kernel: %w", err)
	}
	for _, m := range replies {
		at := m.Header.Seq - first
		if m.Header.Type != unix.NLMSG_ERROR || at >= uint32(len(errs)) || len(m.Data) < 4 {
			continue
		}
		if errno := -int32At(m.Data); errno != 0 {
			errs[at] = unix.Errno(errno)
		}
		next = int(at) + 1
	}
	return next, nil
}

// reply receives one message.
func (ns *namespace) reply(fd int) ([]byte, error) {
	if ns.buffer == nil {
		ns.buffer = make([]byte, outlookBuffer)
	}
	deadline := time.Now().Add(replyTimeout)
	for {
		n, _, err := unix.Recvfrom(fd, ns.buffer, unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			return ns.buffer[:n], nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EAGAIN):
			return nil, os.NewSyscallError("recvfrom", err)
		}
		left := time.Until(deadline)
		if left <= 0 {
			return nil, fmt.Errorf("no reply of the kernel within %s", replyTimeout)
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, int(left.Milliseconds())+1); err != nil && !errors.Is(err, unix.EINTR) {
			return nil, os.NewSyscallError("poll", err)
		}
	}
}
