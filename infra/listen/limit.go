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

// Share is the part of the file descriptors for connections that a server has, in eighths.
type Share int

// The shares of the servers. They add up to eight.
const (
	HTTP Share = 5
	GRPC Share = 3
)

// MaxConnections returns how many connections each of the listeners of a server may have. It is at
// most the configured number, unless that is 0, and so much that the servers leave file descriptors
// for the work of the agent: a client that only holds connections open must not stop it.
func MaxConnections(of Share, configured, listeners int) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		files.Cur = 1024 // the default of Linux
	}
	return of.connections(configured, listeners, files.Cur)
}

func (s Share) connections(configured, listeners int, files uint64) int {
	const most = 1 << 20
	n := int(min(files, most))
	n = max(leastConnections, (n-reserved-n/8)*int(s)/8/max(listeners, 1))
	if configured > 0 {
		n = min(n, configured)
	}
	return n
}

// Limited returns a listener with at most that many open connections; further ones wait.
func Limited(ln net.Listener, connections int) net.Listener {
	return netutil.LimitListener(ln, connections)
}
