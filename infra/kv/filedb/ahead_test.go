package filedb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// counter is a format that counts what it reads.
type counter struct{ texts []string }

func (c *counter) Read(_ string, text []byte, _ string) kv.Content {
	c.texts = append(c.texts, string(text[:1]))
	return kv.Content{Entries: []kv.Entry{{Key: string(text[:1])}}}
}

// A large file is read while its change settles, and only again if it changed
// again; small ones are read when they have settled.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	large, small := filepath.Join(t.TempDir(), "a.yaml"), filepath.Join(t.TempDir(), "b.yaml")
	write := func(path, first string, size int) {
		t.Helper()
		if replaced, err := os.Open(path); err == nil { // while it is open, no other file gets its inode
			t.Cleanup(func() { _ = replaced.Close() })
		}
		if err := errors.Join(os.WriteFile(path+".new", []byte(strings.Repeat(first, size)), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	var format counter
	r := newReader(&format, "", []string{large, small}, "", time.Now)
	step := func(want ...string) {
		t.Helper()
		if got := strings.Join(format.texts, ""); got != strings.Join(want, "") {
			t.Fatalf("read %q, expected %q", got, want)
		}
		format.texts = nil
	}
	load := func(key string) {
		t.Helper()
		r.look()
		r.load(func(string, os.FileInfo) bool { return false })
		if entries := r.files[large].entries; len(entries) != 1 || entries[0].Key != key {
			t.Fatalf("entries are %v, expected %s", entries, key)
		}
	}
	write(large, "a", smallFile+1)
	write(small, "b", 10)
	r.look()
	r.readAhead()
	step("a")
	load("a")
	step("b")
	write(large, "cc", smallFile)
	r.look()
	r.readAhead()
	write(large, "ddd", smallFile)
	step("c")
	load("d")
	step("d")
	r.readAhead()
	step()
	if len(r.ahead) != 0 {
		t.Error("what was read ahead is kept")
	}
}
