package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// Changes of nftables come from another netlink protocol than all others. The kernel sends a
// message for each object that a transaction changed, several at once, and all of one table
// are one event.

// tableListener is a socket that receives the changes of nftables; nil: there are none to receive.
type tableListener struct {
	socket   *os.File
	programs *programs
}

// listenToTables opens a socket in the namespace; all: also for the namespaces that have a number
// there. A kernel without nftables, and a process without privileges, has no such changes.
func (h *handle) listenToTables(all bool) (*tableListener, error) {
	l := &tableListener{programs: h.k.programs}
	open := func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		if all {
			err = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_LISTEN_ALL_NSID, 1)
		}
		if err == nil {
			err = setBuffer(fd)
		}
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.NFNLGRP_NFTABLES - 1)})
		}
		if err != nil {
			unix.Close(fd)
			return err
		}
		l.socket = os.NewFile(uintptr(fd), "netfilter")
		return nil
	}
	err := h.ns.inside(open)
	switch {
	case is(err, unix.EPERM, unix.EACCES, unix.EPROTONOSUPPORT, unix.EINVAL, unix.ENOENT):
		return nil, nil
	case err != nil:
		return nil, classify("subscribe to changes of nftables", err)
	}
	return l, nil
}

// follow calls event for changes of other programs until the context ends (nil) or changes were
// lost.
func (l *tableListener) follow(ctx context.Context, event func(number int, e netlinkapi.Event)) error {
	if l == nil {
		<-ctx.Done()
		return nil
	}
	stop := context.AfterFunc(ctx, func() { l.socket.Close() })
	defer func() {
		if stop() {
			l.socket.Close()
		}
	}()
	data, control := make([]byte, outlookBuffer), make([]byte, unix.CmsgSpace(4))
	for {
		n, nControl, from, err := receive(l.socket, data, control)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch nftables: %w", err)
		case from == nil || from.Pid != nl.PidKernel:
			continue
		}
		number, known := namespaceNumber(control[:nControl])
		if !known {
			continue
		}
		for table := range l.changed(data[:n]) {
			event(number, netlinkapi.Event{Kind: netlinkapi.TableChanged, NFTable: table})
		}
	}
}

// From linux/netfilter.h and linux/netfilter/nf_tables.h.
const (
	sizeofNfgenmsg = 4
	portOffset     = 12 // of the port in the header of a message
	// nftaTable is the name of the table, in messages about all kinds of objects.
	nftaTable = 1
)

var nftFamilies = map[uint8]string{
	unix.NFPROTO_INET: "inet", unix.NFPROTO_IPV4: "ip", unix.NFPROTO_ARP: "arp", unix.NFPROTO_NETDEV: "netdev",
	unix.NFPROTO_BRIDGE: "bridge", unix.NFPROTO_IPV6: "ip6",
}

// changed returns the tables that messages are about, unless an own program has changed them: all
// messages that come at once are about one transaction.
func (l *tableListener) changed(data []byte) map[netlinkapi.NFTable]bool {
	if len(data) < unix.SizeofNlMsghdr || l.programs.own(binary.NativeEndian.Uint32(data[portOffset:])) {
		return nil
	}
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		return nil
	}
	tables := map[netlinkapi.NFTable]bool{}
	for _, m := range messages {
		if m.Header.Type>>8 != unix.NFNL_SUBSYS_NFTABLES || m.Header.Type&0xff == unix.NFT_MSG_NEWGEN || len(m.Data) < sizeofNfgenmsg {
			continue
		}
		for kind, value := range attributes(m.Data[sizeofNfgenmsg:]) {
			if kind&nl.NLA_TYPE_MASK == nftaTable {
				tables[netlinkapi.NFTable{Family: nftFamilies[m.Data[0]], Name: unix.ByteSliceToString(value)}] = true
				break
			}
		}
	}
	return tables
}

// together runs loops until the context ends or one of them does, and returns its error.
func together(ctx context.Context, loops ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(loops))
	var running sync.WaitGroup
	for i, loop := range loops {
		running.Go(func() {
			defer cancel()
			errs[i] = loop(ctx)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
