package listen

import (
	"net"
	"syscall"

	"golang.org/x/net/netutil"
)

// reserved is how many file descriptors are left to everything but the connections of servers:
// VPP, netlink, stores, files. An eighth of the limit is added.
const reserved = 40

// leastConnections is how many connections a listener accepts in any case.
const leastConnections = 4

// MaxConnections returns how many connections each of the listeners of a server may have. It is at
// most the configured number, unless that is 0, and so much that two servers leave file descriptors
// for the work of the agent: a client that only holds connections open must not stop it.
func MaxConnections(configured, listeners int) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		files.Cur = 1024 // the default of Linux
	}
	return share(configured, listeners, files.Cur)
}

func share(configured, listeners int, files uint64) int {
	const most = 1 << 20
	n := int(min(files, most))
	n = max(leastConnections, (n-reserved-n/8)/2/max(listeners, 1))
	if configured > 0 {
		n = min(n, configured)
	}
	return n
}

// Limited returns a listener with at most that many open connections; further ones wait.
func Limited(ln net.Listener, connections int) net.Listener {
	return netutil.LimitListener(ln, connections)
}
