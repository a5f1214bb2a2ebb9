package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestTempDirsOfKilledAgentsAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	alive, err := newTempDir()
	if err != nil {
		t.Fatal(err)
	}
	killed, err := newTempDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as the kernel does at the end of a process
		t.Fatal(err)
	}
	foreign := filepath.Join(os.TempDir(), "vpp-agent-of-somebody")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	third, err := newTempDir()
	if err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{alive.path: true, killed.path: false, foreign: true, third.path: true} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == there {
			t.Errorf("%s: %v, expected there: %v", path, err, there)
		}
	}
	for _, d := range []tempDir{alive, third} {
		if err := d.remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", d.path, err)
		}
	}
}
