package filedb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// On a full disk the status file stays as it was, and the error of a write
// names the remedy. A refused value does not appear with the next one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := infratest.SmallDisk(t, "256k")
	path := filepath.Join(dir, "status.json")
	s := start(t, dir)
	s.want("resync")
	infratest.Fatal(t, s.Put("a", wrapperspb.String("1")))
	before, err := os.ReadFile(path)
	infratest.Fatal(t, err)
	free := infratest.FillDisk(t, dir, 1)
	large := wrapperspb.String(strings.Repeat("x", 50_000))
	for what, err := range map[string]error{
		"put large: ":    s.Put("large", large),
		"put 2 values: ": s.PutAll(map[string]proto.Message{"a": nil, "large": large}),
	} {
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), what) ||
			!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "status-path in filedb.conf") {
			t.Errorf("%s: got %v", what, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(before) {
			t.Errorf("%s the status file is %s, %v", what, now, err)
		}
	}
	free()
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	infratest.Fatal(t, s.Put("b", wrapperspb.String("2")))
	now, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(now), `"1"`) || !strings.Contains(string(now), `"2"`) || strings.Contains(string(now), "large") {
		t.Errorf("with room again the status file is %s, %v", now, err)
	}
}
