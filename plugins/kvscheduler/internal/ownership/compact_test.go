package ownership_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

// A file whose content was deleted becomes small again, and has what remains.
func TestFileBecomesSmaller(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	many := map[string][]byte{}
	for i := range 20_000 {
		many[fmt.Sprintf("key-%d", i)] = bytes.Repeat([]byte("x"), 1000)
	}
	infratest.Fatal(t, s.SaveState("many", many, true))
	full := s.Stats().Size
	infratest.Fatal(t, s.SaveState("many", map[string][]byte{"kept": []byte("1")}, true))
	for range 3 {
		infratest.Fatal(t, s.SaveState("other", map[string][]byte{"a": []byte("b")}, true))
	}
	if size := s.Stats().Size; full < 20<<20 || size > 1<<20 {
		t.Errorf("the file has %d bytes after %d, expected less than 1 MiB", size, full)
	}
	if _, err := ownership.Open(ownership.Options{Dir: dir, Holder: "other"}); !errors.Is(err, ownership.ErrHeld) {
		t.Errorf("another process: %v, expected that the directory is held", err)
	}
	infratest.Fatal(t, s.Close())
	s = open(t, dir)
	for name, want := range map[string]string{"many": "map[kept:1]", "other": "map[a:b]"} {
		if got, err := s.LoadState(name); err != nil || fmt.Sprintf("%s", got) != want {
			t.Errorf("%s: %s, %v, expected %s", name, got, err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.compact")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The file has secrets: permissions of others are removed, with a warning.
func TestModeIsTightened(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o600, 0o644, 0o666, 0o640, 0o604} {
		dir := t.TempDir()
		infratest.Fatal(t, open(t, dir).Close())
		path := filepath.Join(dir, "state.db")
		infratest.Fatal(t, os.Chmod(path, mode))
		var warned []string
		s, err := ownership.Open(ownership.Options{Dir: dir, Warn: func(text string) { warned = append(warned, text) }})
		infratest.Fatal(t, err)
		info, err := os.Stat(path)
		infratest.Fatal(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %04o: %04o afterwards, expected 0600", mode, info.Mode().Perm())
		}
		if text := strings.Join(warned, "\n"); (mode != 0o600) != strings.Contains(text, fmt.Sprintf("its mode was %04o", mode)) {
			t.Errorf("mode %04o: warned %q", mode, text)
		}
		infratest.Fatal(t, s.Close())
	}
}

// What is not a file is refused at once.
func TestNotAFile(t *testing.T) {
	t.Parallel()
	for want, make := range map[string]func(path string) error{
		"is a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"is a directory":  func(path string) error { return os.Mkdir(path, 0o700) },
		"is a socket": func(path string) error {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() })
			}
			return err
		},
		"is a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		dir := t.TempDir()
		infratest.Fatal(t, make(filepath.Join(dir, "state.db")))
		_, err := ownership.Open(ownership.Options{Dir: dir})
		if !errors.Is(err, ownership.ErrNotFile) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "state-dir: ") != 1 || strings.Count(err.Error(), dir) != 1 {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
