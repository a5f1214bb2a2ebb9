package listen

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// tcpListen is the state of a listening socket in /proc/net/tcp.
const tcpListen = "0A"

// holder describes the process that listens on the port of an address, or at
// least its user, as far as /proc shows it. It returns "" if nothing is known.
func holder(endpoint string) string {
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	owner := map[string]string{} // the user ID, by socket
	uid := ""
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, l := range listeners(table, fmt.Sprintf(":%04X", n)) {
			owner["socket:["+l.inode+"]"], uid = l.uid, l.uid
		}
	}
	if len(owner) == 0 {
		return ""
	}
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || owner[target] == "" {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm") // the process ID alone is useful too
		return fmt.Sprintf("process %s (%s) of user %s", pid, strings.TrimSpace(string(name)), userName(owner[target]))
	}
	return "a process of user " + userName(uid)
}

func userName(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

// listener is a listening socket in /proc/net/tcp.
type listener struct{ inode, uid string }

// listeners returns the sockets that listen on a port.
func listeners(table, portSuffix string) []listener {
	data, err := os.ReadFile(table)
	if err != nil {
		return nil
	}
	return parseListeners(string(data), portSuffix)
}

func parseListeners(table, portSuffix string) []listener {
	var found []listener
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], portSuffix) && f[3] == tcpListen {
			found = append(found, listener{f[9], f[7]})
		}
	}
	return found
}
