package infratest

import (
	"io"
	"net"
	"syscall"
	"testing"
)

// Crowd opens 10,000 connections to a TCP address, or as many as the limit on
// open files allows, and writes text on each of them. It returns their number.
// They stay open until the test ends. It skips the test if the limit allows
// fewer than 1,000.
func Crowd(t testing.TB, addr net.Addr, text string) int {
	t.Helper()
	var limit syscall.Rlimit
	Fatal(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	n := min(10_000, (int(min(limit.Cur, 1<<30))-500)/2) // both ends belong to this process
	if n < 1000 {
		t.Skipf("SKIPPED: the limit on open files is %d", limit.Cur)
	}
	for range n {
		conn, err := net.Dial("tcp", addr.String())
		Fatal(t, err)
		t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d connections", n)
	return n
}
