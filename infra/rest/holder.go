package rest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tcpListen is the state of a listening socket in /proc/net/tcp.
const tcpListen = "0A"

// holder names the process that listens on the port of an address, as far as
// /proc tells; "" if it does not.
func holder(endpoint string) string {
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range listeners(table, fmt.Sprintf(":%04X", n)) {
			sockets["socket:["+inode+"]"] = true
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && sockets[target] {
			pid := strings.Split(fd, "/")[2]
			name, _ := os.ReadFile("/proc/" + pid + "/comm") // the number alone is of use too
			return fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(string(name)))
		}
	}
	return ""
}

// listeners returns the inodes of the sockets that listen on a port.
func listeners(table, portSuffix string) []string {
	data, err := os.ReadFile(table)
	if err != nil {
		return nil
	}
	var inodes []string
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], portSuffix) && f[3] == tcpListen {
			inodes = append(inodes, f[9])
		}
	}
	return inodes
}
