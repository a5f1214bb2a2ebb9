// Command socketcheck reports whether a process listens on a unix socket: the exit code
// is 0 if so, else 1, with the reason on the standard output. Nothing is sent.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Println("usage: listens SOCKET")
		os.Exit(1)
	}
	switch conn, err := net.DialTimeout("unix", os.Args[1], time.Second); {
	case err == nil:
		_ = conn.Close() // nothing was sent
	case errors.Is(err, syscall.ECONNREFUSED):
		fmt.Println("the socket is stale: no process listens there")
		os.Exit(1)
	default:
		fmt.Println(err)
		os.Exit(1)
	}
}
