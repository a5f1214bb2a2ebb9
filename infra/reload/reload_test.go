package reload_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	infratest.Fatal(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)))
}

func TestValueFollowsItsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	now := time.Unix(1_800_000_000, 0)
	var report []string
	loads := 0
	load := func() (string, error) {
		loads++
		data, err := os.ReadFile(file)
		if err == nil && strings.HasPrefix(string(data), "bad") {
			err = errors.New("it is " + string(data))
		}
		return string(data), err
	}
	opts := reload.Options{Now: func() time.Time { return now }, Changed: func(err error) {
		if err != nil {
			report = append(report, err.Error())
			return
		}
		report = append(report, "")
	}}
	if _, err := reload.Load([]string{file}, load, opts); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without the file: %v", err)
	}
	write(t, file, "one", 0o600)
	v, err := reload.Load([]string{file}, load, opts)
	infratest.Fatal(t, err)
	want := func(what, value string, messages ...string) {
		t.Helper()
		if got := v.Get(); got != value {
			t.Errorf("%s: got %q, want %q", what, got, value)
		}
		if !slices.Equal(report, messages) {
			t.Errorf("%s: told %q, want %q", what, report, messages)
		}
		report = nil
	}
	before := loads
	for range 3 {
		now = now.Add(2 * time.Second)
		want("nothing has changed", "one")
	}
	if loads != before {
		t.Errorf("loaded %d times without a change", loads-before)
	}
	write(t, file, "second", 0o600)
	now = now.Add(2 * time.Second)
	want("a new content", "second", "")
	write(t, file, "third", 0o600)
	want("within a second", "second")
	write(t, file, "bad one", 0o600)
	now = now.Add(2 * time.Second)
	want("a bad content", "second", "it is bad one")
	now = now.Add(2 * time.Second)
	want("the same again", "second")
	write(t, file, "bad two", 0o600)
	now = now.Add(2 * time.Second)
	want("another bad content", "second", "it is bad two")
	write(t, file, "second", 0o600)
	now = now.Add(2 * time.Second)
	want("well again", "second", "")
}

// Mounted secrets of Kubernetes are links that are moved from one directory to
// another.
func TestLinkThatMoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "a", 0o600)
	write(t, filepath.Join(dir, "b"), "b", 0o600)
	link := filepath.Join(dir, "link")
	infratest.Fatal(t, os.Symlink("a", link))
	now := time.Unix(0, 0)
	v, err := reload.Load([]string{link}, func() (string, error) {
		data, err := os.ReadFile(link)
		return string(data), err
	}, reload.Options{Now: func() time.Time { return now }})
	infratest.Fatal(t, err)
	infratest.Fatal(t, errors.Join(os.Symlink("b", link+".new"), os.Rename(link+".new", link)))
	now = now.Add(time.Second)
	if got := v.Get(); got != "b" {
		t.Errorf("got %q", got)
	}
}

func TestOpenToAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shut, open := filepath.Join(dir, "shut"), filepath.Join(dir, "open")
	write(t, shut, "x", 0o640)
	write(t, open, "x", 0o644)
	if got := reload.WorldReadable("", shut, open, filepath.Join(dir, "none")); !slices.Equal(got, []string{open}) {
		t.Errorf("got %q", got)
	}
}
