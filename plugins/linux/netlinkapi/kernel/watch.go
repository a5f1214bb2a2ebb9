package kernel

import (
	"context"
	"fmt"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// watchBuffer is how many bytes of notifications the kernel keeps for a slow
// reader.
const watchBuffer = 1 << 20

// Watch tells changes of links and addresses; see netlinkapi.Watcher.
func (h *handle) Watch(ctx context.Context, ready func(), event func(netlinkapi.Event)) error {
	socket, err := h.subscribe()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, socket.Close)
	defer func() {
		if stop() {
			socket.Close()
		}
	}()
	ready()
	for {
		messages, from, err := socket.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch links: %w", err)
		case from.Pid != nl.PidKernel:
			continue
		}
		for _, m := range messages {
			if e, ok := parseEvent(m); ok {
				event(e)
			}
		}
	}
}

func (h *handle) subscribe() (socket *nl.NetlinkSocket, err error) {
	open := func() (err error) {
		socket, err = nl.Subscribe(unix.NETLINK_ROUTE,
			unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
		return classify("subscribe to changes of links", err)
	}
	if current(h.ns.id) {
		err = OnOwnThread(open)
	} else {
		err = inNamespace(h.ns.file, open)
	}
	if err != nil {
		return nil, err
	}
	if err := socket.SetReceiveBufferSize(watchBuffer, false); err != nil {
		socket.Close()
		return nil, fmt.Errorf("set size of receive buffer: %w", err)
	}
	return socket, nil
}

func parseEvent(m syscall.NetlinkMessage) (e netlinkapi.Event, ok bool) {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		if len(m.Data) < unix.SizeofIfInfomsg {
			return e, false
		}
		info := nl.DeserializeIfInfomsg(m.Data)
		if info.Family != unix.AF_UNSPEC { // about a port of a bridge
			return e, false
		}
		return netlinkapi.Event{Link: int(info.Index), Gone: m.Header.Type == unix.RTM_DELLINK}, true
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		if len(m.Data) < unix.SizeofIfAddrmsg {
			return e, false
		}
		return netlinkapi.Event{Link: int(nl.DeserializeIfAddrmsg(m.Data).Index)}, true
	}
	return e, false
}
