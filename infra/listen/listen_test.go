package listen

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestTakenAddressTellsByWhom(t *testing.T) {
	t.Parallel()
	first, err := TCP(t.Context(), "tcp", "127.0.0.1:0", "")
	infratest.Fatal(t, err)
	defer first.Close()
	me, err := user.Current()
	if err != nil {
		t.Skip("SKIPPED: this user has no name:", err)
	}
	_, err = TCP(t.Context(), "tcp", first.Addr().String(), "choose another")
	want := fmt.Sprintf("listen on %s: the address is in use by process %d (", first.Addr(), os.Getpid())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "of user "+me.Username+" (choose another)") {
		t.Errorf("got %v", err)
	}
	if _, err := TCP(t.Context(), "tcp", "192.0.2.1:0", ""); err == nil || !strings.HasPrefix(err.Error(), "listen on 192.0.2.1:0: ") {
		t.Errorf("an address of others: %v", err)
	}
}

func TestHolderOfNothing(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"", "x", "127.0.0.1:http", "127.0.0.1:99999"} {
		if got := holder(endpoint); got != "" {
			t.Errorf("%q: got %q", endpoint, got)
		}
	}
	if got := userName("4000000001"); got != "4000000001" {
		t.Errorf("a user without a name is %q", got)
	}
}

func FuzzListeners(f *testing.F) {
	f.Add("  0: 0100007F:23E7 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1", ":23E7")
	f.Fuzz(func(t *testing.T, table, port string) {
		for _, l := range parseListeners(table, port) {
			if l.inode == "" || l.uid == "" {
				t.Errorf("got %+v", l)
			}
		}
	})
}

func TestSockets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	s := Socket{Path: path, Mode: 0o640, Hint: "or else"}
	first, err := s.Listen(t.Context())
	infratest.Fatal(t, err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info, err)
	}
	if _, err := s.Listen(t.Context()); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "socket: "+path+" is in use by another process (or else)") {
		t.Errorf("in use: %v", err)
	}
	s.Force = true
	second, err := s.Listen(t.Context())
	infratest.Fatal(t, err)
	if err := first.Close(); err != nil { // it leaves the other's socket alone
		t.Error(err)
	}
	conn, err := net.Dial("unix", path)
	infratest.Fatal(t, err)
	conn.Close()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
	abandoned, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	infratest.Fatal(t, err)
	abandoned.SetUnlinkOnClose(false)
	abandoned.Close()
	third, err := Socket{Path: path, Mode: 0o600}.Listen(t.Context())
	if err != nil {
		t.Fatalf("over one that was left behind: %v", err)
	}
	third.Close()
	file := filepath.Join(dir, "file")
	infratest.Fatal(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]string{
		file:                            "exists and is not a socket",
		filepath.Join(dir, "none", "s"): "socket: ",
		filepath.Join(file, "s"):        "socket: lstat",
	} {
		if _, err := (Socket{Path: path, Mode: 0o600}).Listen(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}
