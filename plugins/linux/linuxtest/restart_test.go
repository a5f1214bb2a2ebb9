package linuxtest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

// listener receives what the kernel reports about all changes in a namespace, as "ip monitor" and
// "nft monitor" do.
type listener struct {
	t       *testing.T
	ns      string
	sockets map[int]*nl.NetlinkSocket // by protocol
}

// monitored are the groups of changes, by protocol.
var monitored = map[int][]uint{
	unix.NETLINK_ROUTE: {
		unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH, unix.RTNLGRP_TC, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV4_RULE,
		unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV6_RULE, unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF,
		unix.RTNLGRP_NSID, unix.RTNLGRP_NEXTHOP,
	},
	unix.NETLINK_NETFILTER: {unix.NFNLGRP_NFTABLES},
}

// receiveBuffer has room for all that is reported until it is read.
const receiveBuffer = 8 << 20

func listen(t *testing.T, w *nltest.World, ns string) *listener {
	t.Helper()
	l := &listener{t, ns, map[int]*nl.NetlinkSocket{}}
	for protocol, groups := range monitored {
		must(t, kernel.OnOwnThread(func() error {
			file, err := os.Open(w.Path(ns))
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			s, err := nl.Subscribe(protocol, groups...)
			l.sockets[protocol] = s
			return errors.Join(err, s.SetReceiveBufferSize(receiveBuffer, true))
		}))
		t.Cleanup(l.sockets[protocol].Close)
	}
	return l
}

// until returns the changes that are reported before one with a text.
func (l *listener) until(protocol int, marker string) (changes []string) {
	l.t.Helper()
	for {
		messages, _, err := l.sockets[protocol].Receive()
		must(l.t, err)
		for _, m := range messages {
			if containsText(m.Data, marker) {
				return changes
			}
			if !ofKernel(m.Header.Type, m.Data) {
				changes = append(changes, fmt.Sprintf("%s: protocol %d, type %d: %q", l.ns, protocol, m.Header.Type, m.Data))
			}
		}
	}
}

func containsText(data []byte, text string) bool {
	for i := 0; i+len(text) <= len(data); i++ {
		if string(data[i:i+len(text)]) == text {
			return true
		}
	}
	return false
}

// ofKernel reports whether the kernel changes this by itself: neighbours that it learned.
func ofKernel(kind uint16, data []byte) bool {
	const states = 8 // offset in struct ndmsg
	return (kind == unix.RTM_NEWNEIGH || kind == unix.RTM_DELNEIGH) && len(data) >= states+2 &&
		binary.NativeEndian.Uint16(data[states:])&unix.NUD_PERMANENT == 0
}

// TestRestartChangesNothing: an agent that starts again with the same configuration makes no
// request that changes anything in the kernel.
func TestRestartChangesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	items, _ := supported(t, nltest.Kernel)
	w := nltest.Kernel(t)
	makeForeign(t, w)
	stateDir := t.TempDir()
	a := linuxtest.StartIn(t, w, stateDir)
	must(t, a.Apply(items...))
	awaitConfigured(t, a, items)
	a.Stop()
	before := settled(t, w)
	listeners := []*listener{listen(t, w, "own"), listen(t, w, "left")}

	a = linuxtest.StartIn(t, w, stateDir)
	must(t, a.Resync(items...))
	awaitConfigured(t, a, items)
	a.Stop()
	if after := everything(t, w); after != before {
		t.Errorf("the restart changed\n%s", difference(before, after))
	}
	for _, l := range listeners {
		for protocol, command := range map[int][]string{
			unix.NETLINK_ROUTE:     {"ip", "link", "set", "dev", "lo", "alias", "marker"},
			unix.NETLINK_NETFILTER: {"nft", "add", "table", "inet", "marker"},
		} {
			_, err := inside(t, w, l.ns, command...)
			must(t, err)
			for _, change := range l.until(protocol, "marker") {
				t.Error(change)
			}
		}
	}
}
