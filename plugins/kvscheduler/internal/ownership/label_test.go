package ownership_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

// What one agent kept is refused to another, and stays as it is; it is taken over
// where that is asked for, and from a program that knew no labels.
func TestOtherLabel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	as := func(label, from string) (*ownership.Store, error) {
		return ownership.Open(ownership.Options{Dir: dir, Label: label, From: from, Now: clock})
	}
	use := func(label, from string) {
		t.Helper()
		s, err := as(label, from)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, s); !strings.HasPrefix(got, "a=1 ") {
			t.Errorf("agent %q has %q", label, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(label, from, former string) {
		t.Helper()
		_, err := as(label, from)
		if !errors.Is(err, ownership.ErrOtherAgent) {
			t.Fatalf("agent %q: got %v", label, err)
		}
		for _, part := range []string{filepath.Join(dir, "state.db"), `the agent "` + former + `"`, `the label "` + label + `"`, "state-dir-from: " + former} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not contain %q", err, part)
			}
		}
	}
	before := open(t, dir) // without a label
	write(t, before, ownership.Batch{Put: []ownership.Record{rec("a", "1")}})
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	use("one", "")
	refuse("two", "", "one")
	use("one", "") // nothing was lost
	refuse("two", "three", "one")
	use("two", "one")
	use("two", "one") // harmless from then on
	refuse("one", "", "two")
	use("", "")                                                               // a program without labels
	if err := os.Mkdir(filepath.Join(dir, "holder.new"), 0o700); err != nil { // cannot be signed
		t.Fatal(err)
	}
	refuse("one", "", "two")
	use("two", "")
	if err := os.Remove(filepath.Join(dir, "holder.new")); err != nil {
		t.Fatal(err)
	}
	if got := asides(t, dir); len(got) > 0 {
		t.Errorf("set aside: %v", got)
	}
}
