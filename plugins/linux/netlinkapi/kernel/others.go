package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// outlookBuffer is how many bytes of notifications are read at once; one has a few
// kilobytes at most.
const outlookBuffer = 64 << 10

// Number reports the number of another namespace (nsid of ip-netns(8)); see
// netlinkapi.Others.
func (h *handle) Number(ctx context.Context, other netlinkapi.Handle) (int, error) {
	return ask(ctx, h.lease, func() (int, error) { return h.ns.number(other) })
}

func (ns *namespace) number(other netlinkapi.Handle) (int, error) {
	o, ok := other.(*handle)
	if !ok {
		return 0, fmt.Errorf("number of a namespace: %T is not of this kernel", other)
	}
	if o.ns.id == ns.id {
		return netlinkapi.OwnNumber, nil
	}
	fd := int(o.ns.file.Fd())
	number, err := ns.route.GetNetNsIdByFd(fd)
	if err == nil && number < 0 {
		// The kernel chooses one; another process may have been faster.
		if err = ns.route.SetNetNsIdByFd(fd, -1); err == nil || errors.Is(err, unix.EEXIST) {
			number, err = ns.route.GetNetNsIdByFd(fd)
		}
	}
	if err == nil && number < 0 {
		err = errors.New("the kernel has given it none")
	}
	return number, classify("number of a namespace", err)
}

// WatchOthers reports changes in other namespaces; see netlinkapi.Others. The socket
// belongs to this namespace and has no part in the others.
func (h *handle) WatchOthers(ctx context.Context, ready func(), event func(number int, e netlinkapi.Event)) error {
	return h.call(ctx, func() error { return h.watchOthers(ctx, ready, event) })
}

func (h *handle) watchOthers(ctx context.Context, ready func(), event func(number int, e netlinkapi.Event)) error {
	socket, err := h.listenToAll()
	if err != nil {
		return err
	}
	tables, err := h.listenToTables(true)
	if err != nil {
		socket.Close()
		return err
	}
	ready()
	var mu sync.Mutex // held during event
	one := func(number int, e netlinkapi.Event) {
		mu.Lock()
		defer mu.Unlock()
		event(number, e)
	}
	return together(ctx, func(ctx context.Context) error { return followOthers(ctx, socket, one) },
		func(ctx context.Context) error { return tables.follow(ctx, one) })
}

// followOthers reads notifications until the context ends (nil) or some were lost.
func followOthers(ctx context.Context, socket *os.File, event func(number int, e netlinkapi.Event)) error {
	stop := context.AfterFunc(ctx, func() { socket.Close() })
	defer func() {
		if stop() {
			socket.Close()
		}
	}()
	data, control := make([]byte, outlookBuffer), make([]byte, unix.CmsgSpace(4))
	for {
		n, nControl, from, err := receive(socket, data, control)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch other network namespaces: %w", err)
		case from == nil || from.Pid != nl.PidKernel:
			continue
		}
		number, events := aboutNamespace(data[:n], control[:nControl])
		for _, e := range events {
			event(number, e)
		}
	}
}

// receive waits for a message with what comes along with it.
func receive(socket *os.File, data, control []byte) (n, nControl int, from *unix.SockaddrNetlink, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, 0, nil, err
	}
	var sender unix.Sockaddr
	waiting := raw.Read(func(fd uintptr) bool {
		n, nControl, _, sender, err = unix.Recvmsg(int(fd), data, control, 0)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	from, _ = sender.(*unix.SockaddrNetlink)
	return n, nControl, from, errors.Join(waiting, err)
}

// listenToAll opens a socket that receives what Watch receives, from all namespaces that
// have a number here, and what becomes of those numbers.
func (h *handle) listenToAll() (socket *os.File, err error) {
	open := func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		groups := uint32(1 << (unix.RTNLGRP_NSID - 1))
		for _, group := range watchGroups {
			groups |= 1 << (group - 1)
		}
		err = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_LISTEN_ALL_NSID, 1)
		if err == nil {
			err = prepareSocket(fd)
		}
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups})
		}
		if err != nil {
			unix.Close(fd)
			return err
		}
		socket = os.NewFile(uintptr(fd), "netlink")
		return nil
	}
	if current(h.ns.id) {
		err = OnOwnThread(open)
	} else {
		err = inNamespace(h.ns.file, open)
	}
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("listen to other namespaces: %w", privilegeError{"needs CAP_NET_BROADCAST"})
	}
	if err != nil {
		return nil, classify("listen to other namespaces", err)
	}
	return socket, nil
}

// aboutNamespace returns the number of the namespace that a message is about, and
// what it says.
func aboutNamespace(data, control []byte) (number int, events []netlinkapi.Event) {
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil || len(messages) == 0 {
		return 0, nil
	}
	number, known := namespaceNumber(control)
	if !known {
		return 0, nil
	}
	m := messages[0]
	if m.Header.Type != unix.RTM_DELNSID {
		return number, parseEvents(m)
	}
	if number != netlinkapi.OwnNumber { // a number in another namespace
		return 0, nil
	}
	if number, ok := numberIn(m.Data); ok {
		return number, []netlinkapi.Event{{}}
	}
	return 0, nil
}

// namespaceNumber returns the number of the namespace that comes along with a message.
func namespaceNumber(control []byte) (number int, known bool) {
	parts, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, false
	}
	for _, part := range parts {
		if part.Header.Level == unix.SOL_NETLINK && part.Header.Type == unix.NETLINK_LISTEN_ALL_NSID && len(part.Data) >= 4 {
			return int(int32(binary.NativeEndian.Uint32(part.Data))), true
		}
	}
	return netlinkapi.OwnNumber, true
}

// numberIn reads the number of a namespace out of a message about one.
func numberIn(data []byte) (n int, ok bool) {
	header := nl.NewRtGenMsg().Len()
	if len(data) < header {
		return 0, false
	}
	for kind, value := range attributes(data[header:]) {
		if kind == netlink.NETNSA_NSID && len(value) >= 4 {
			return int32At(value), true
		}
	}
	return 0, false
}
