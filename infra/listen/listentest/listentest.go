// Package listentest puts a load on servers in tests.
package listentest

import (
	"io"
	"net"
	"syscall"
	"testing"
)

// Crowd connects to a TCP address 10,000 times, or as often as the bound on
// open files allows, and says text on every connection. It returns how many
// there are; they are open until the test ends. Where there can be less than
// 1,000 of them the test is skipped.
func Crowd(t testing.TB, addr net.Addr, text string) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n := min(10_000, (int(min(limit.Cur, 1<<30))-500)/2) // both ends are here
	if n < 1000 {
		t.Skipf("SKIPPED: no more than %d files may be open", limit.Cur)
	}
	for range n {
		conn, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d connections", n)
	return n
}
