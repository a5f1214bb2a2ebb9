package filedb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// quiet lets time pass in small steps, as polls need it, and fails if an update has changes.
func (s *store) quiet(d time.Duration) {
	s.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range d / (100 * time.Millisecond) {
		s.clock.pass(100 * time.Millisecond)
		<-tick.C
	}
	for {
		select {
		case got := <-s.updates:
			if !strings.HasPrefix(got, "?") {
				s.t.Fatalf("update %q, want none", got)
			}
			continue
		default:
		}
		return
	}
}

// A writer that pauses at the end of a line, with the file open, changes nothing until it
// is done, also if it makes a new file.
func TestPausingWriter(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.want("resync")
	s.write("a.yaml", "x = 1\ny = 1\nz = 1\n")
	s.want("x=1 y=1 z=1")
	for _, name := range []string{"a.yaml", "b.yaml"} {
		f, err := os.Create(filepath.Join(s.dir, name))
		infratest.Fatal(t, err)
		for i := range 3 {
			_, err := fmt.Fprintf(f, "%s%c = 2\n", strings.TrimSuffix(name, ".yaml"), 'p'+i)
			infratest.Fatal(t, err)
			s.quiet(5 * time.Second)
		}
		infratest.Fatal(t, f.Close())
		if name == "a.yaml" {
			s.want("ap=2 aq=2 ar=2 -x -y -z")
		} else {
			s.want("bp=2 bq=2 br=2")
		}
	}
}

// A writer that opens the file for each line changes nothing if its pauses are short.
func TestAppendingWriter(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.want("resync")
	s.write("a.yaml", "x = 1\ny = 1\nz = 1\n")
	s.want("x=1 y=1 z=1")
	text := ""
	for _, key := range []string{"x", "y"} {
		text += key + " = 2\n"
		s.write("a.yaml", text)
		s.quiet(1500 * time.Millisecond)
	}
	s.write("a.yaml", text+"z = 2\n")
	s.want("x=2 y=2 z=2")
}

// A process that never closes the file delays its changes by a minute.
func TestWriterThatNeverCloses(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.want("resync")
	f, err := os.Create(filepath.Join(s.dir, "a.yaml"))
	infratest.Fatal(t, err)
	defer func() { _ = f.Close() }()
	_, err = f.WriteString("x = 1\n")
	infratest.Fatal(t, err)
	s.quiet(30 * time.Second)
	s.want("x=1")
}
