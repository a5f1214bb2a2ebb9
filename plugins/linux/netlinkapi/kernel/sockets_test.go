package kernel_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
)

// A path that a process left behind is used again; a file, and a socket that a process has open,
// are left alone. Another file that took the place of the path stays.
func TestPathsOfSockets(t *testing.T) {
	t.Parallel()
	k := kernel.New()
	defer k.Close()
	h, err := k.Open("", netlinkapi.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	dir := t.TempDir()
	left := filepath.Join(dir, "left")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Listen(t.Context(), "unix", left); !errors.Is(err, netlinkapi.ErrExists) {
		t.Errorf("a socket in use: %v", err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	l, err := h.Listen(t.Context(), "unix", left)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.ListenPacket(t.Context(), "unixgram", left); !errors.Is(err, netlinkapi.ErrExists) {
		t.Errorf("a socket of another type: %v", err)
	}
	named := l.(netlinkapi.PathSocket)
	if !named.HasPath() {
		t.Error("the socket has no path")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Listen(t.Context(), "unix", file); !errors.Is(err, netlinkapi.ErrExists) {
		t.Errorf("a file: %v", err)
	}
	if err := os.Rename(file, left); err != nil {
		t.Fatal(err)
	}
	if named.HasPath() {
		t.Error("a file that took the place of the socket is taken for it")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(left); err != nil || string(text) != "data" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
