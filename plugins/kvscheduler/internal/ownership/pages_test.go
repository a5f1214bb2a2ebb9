package ownership_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

// fileMemory is the memory of the process that is mapped from files, in kilobytes.
func fileMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("NOT CHECKED THAT THE STATE-DIR TAKES NO MEMORY: %v", err)
	}
	m := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Skip("NOT CHECKED THAT THE STATE-DIR TAKES NO MEMORY: the kernel does not report RssFile")
	}
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kb
}

// TestReleasePages: a large state file does not stay in memory once it was read, and can
// be read again.
func TestReleasePages(t *testing.T) {
	const records, size = 20_000, 2_000
	s := open(t, t.TempDir())
	var b ownership.Batch
	for i := range records {
		b.Put = append(b.Put, rec("key/"+strconv.Itoa(i), string(make([]byte, size))))
	}
	before := fileMemory(t)
	write(t, s, b)
	for range 2 {
		if all, _, err := s.Load(); err != nil || len(all) != records {
			t.Fatalf("%d records, %v: expected %d", len(all), err, records)
		}
		if grown := fileMemory(t) - before; grown > records*size/1024/4 {
			t.Errorf("%d kB more are mapped than before, of a file with %d kB", grown, records*size/1024)
		}
	}
}
