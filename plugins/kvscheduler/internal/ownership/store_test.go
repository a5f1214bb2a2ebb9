package ownership_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	bolt "go.etcd.io/bbolt"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

var clock = func() time.Time { return time.Unix(1e9, 5) }

func open(t *testing.T, dir string) *ownership.Store {
	t.Helper()
	s, err := ownership.Open(ownership.Options{Dir: dir, Holder: "test, agent one", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func rec(key, value string) ownership.Record {
	return ownership.Record{Key: key, Kind: &ownership.Kind{Descriptor: "d", Southbound: "s"}, Txn: 7, At: clock().UnixNano(), Value: wrapperspb.String(value)}
}

func write(t *testing.T, s *ownership.Store, b ownership.Batch) {
	t.Helper()
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
}

// content is what Load returns, as text.
func content(t *testing.T, j interface {
	Load() ([]*ownership.Record, *ownership.Interrupted, error)
}) string {
	t.Helper()
	all, interrupted, err := j.Load()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range all {
		text := "?"
		if m, ok := r.Message().(*wrapperspb.StringValue); ok {
			text = m.GetValue()
		}
		lines = append(lines, fmt.Sprintf("%s=%s %s %s #%d %d %s", r.Key, text, r.Descriptor, r.Southbound, r.Txn, r.At, r.ValueType()))
	}
	if interrupted != nil {
		lines = append(lines, fmt.Sprintf("during #%d", interrupted.Txn))
	}
	return strings.Join(lines, "\n")
}

func TestWhatIsWrittenIsThereAfterwards(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	s, m := open(t, dir), kvstest.NewJournal()
	for _, b := range []ownership.Batch{
		{Txn: 1, Running: true, Put: []ownership.Record{rec("b", "1"), rec("a", "2")}},
		{Txn: 1},
		{Txn: 2, Delete: []string{"a", "b", "none"}, Put: []ownership.Record{rec("b", "3")}},
		{Txn: 3, Running: true, Put: []ownership.Record{rec("c", "4")}},
		{Txn: 3, Running: true, All: true, Put: []ownership.Record{rec("d", "5"), rec("c", "6")}},
	} {
		write(t, s, b)
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		if file, memory := content(t, s), content(t, m); file != memory {
			t.Errorf("the file has\n%s\nthe memory has\n%s", file, memory)
		}
	}
	if err := s.SaveState("x", map[string][]byte{"k": []byte("v"), "l": []byte("w")}, false); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveState("x", map[string][]byte{"k": nil, "m": []byte("u")}, false); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.Writes != 7 || got.Errors != 0 || got.Bytes == 0 || got.Size == 0 {
		t.Errorf("stats %+v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error("closed twice:", err)
	}
	s = open(t, dir)
	nanos := clock().UnixNano()
	want := fmt.Sprintf("c=6 d s #7 %d google.protobuf.StringValue\nd=5 d s #7 %d google.protobuf.StringValue\nduring #3", nanos, nanos)
	if got := content(t, s); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
	if r, ok := s.Lookup("d"); !ok || r.Txn != 7 {
		t.Errorf("lookup: %+v, %v", r, ok)
	}
	if _, ok := s.Lookup("a"); ok {
		t.Error("a is still on record")
	}
	state, err := s.LoadState("x")
	if err != nil || len(state) != 2 || string(state["l"]) != "w" || string(state["m"]) != "u" {
		t.Errorf("state %q, %v", state, err)
	}
	info, err := os.Stat(filepath.Join(dir, "state.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: expected it to be readable by its owner only", info.Mode(), err)
	}
}

func TestASecondHolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	_, err := ownership.Open(ownership.Options{Dir: dir, Holder: "other", Now: clock})
	if !errors.Is(err, ownership.ErrHeld) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{dir, "test, agent one", fmt.Sprint(os.Getpid()), "2001-09-09"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
}

func TestAFileOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(filepath.Join(dir, "state.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte{ownership.Format + 1})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err = ownership.Open(ownership.Options{Dir: dir}); !errors.Is(err, ownership.ErrNewer) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("got %v", err)
	}
}

// asides are the files that were set aside.
func asides(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "state.db.corrupt-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Whatever happened to the file, the store opens, and either has what was
// written or says that it was lost and where it is kept.
func TestADamagedFileIsSetAside(t *testing.T) {
	t.Parallel()
	origin := t.TempDir()
	s := open(t, origin)
	var b ownership.Batch
	for i := range 400 {
		b.Put = append(b.Put, rec(fmt.Sprintf("key/%03d", i), strings.Repeat("v", 50)))
	}
	write(t, s, b)
	whole := content(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(origin, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	try := func(name string, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "state.db"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		defer func() { _ = s.Close() }()
		if kept := asides(t, dir); len(kept) == 0 {
			return // the damage was where it does not matter, or in a value
		}
		lost++
		if got := content(t, s); got != "" {
			t.Errorf("%s: got\n%s", name, got)
		}
		problem := s.Problem()
		if !errors.Is(problem, ownership.ErrSetAside) || !strings.Contains(problem.Error(), asides(t, dir)[0]) {
			t.Errorf("%s: problem %v", name, problem)
		} else if strings.Contains(problem.Error(), "runtime error") {
			t.Errorf("%s: an operator can do nothing with %v", name, problem)
		}
		write(t, s, ownership.Batch{Put: []ownership.Record{rec("new", "1")}})
		if got := content(t, s); !strings.HasPrefix(got, "new=1 ") {
			t.Errorf("%s: after a write: %s", name, got)
		}
		if s.Problem() == nil {
			t.Errorf("%s: the loss is forgotten", name)
		}
	}
	try("nothing but text", []byte(strings.Repeat("no such format ", 4000)))
	for _, size := range []int{100, 4096, 8192, len(good) / 2} {
		try(fmt.Sprint("cut to ", size), good[:size])
	}
	if lost != 5 {
		t.Errorf("%d of 5 damages were noticed", lost)
	}
	for at := 0; at < len(good); at += 509 {
		data := slices.Clone(good)
		data[at] ^= 0xff
		try(fmt.Sprint("byte ", at), data)
	}
	if err := os.WriteFile(filepath.Join(origin, "state.db"), good, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := content(t, open(t, origin)); got != whole || len(asides(t, origin)) > 0 {
		t.Error("the good file is not read as it was written")
	}
}

func TestADirectoryThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(place, nil, 0o600); err != nil { // in the way of the directory
		t.Fatal(err)
	}
	var told []error
	s, err := ownership.Open(ownership.Options{Dir: place, Now: clock, Report: func(p error) { told = append(told, p) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := ownership.Batch{Put: []ownership.Record{rec("a", "1")}}
	for range 2 {
		if err := s.Write(&b); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("write: %v", err)
		}
	}
	if got := content(t, s); got != "" {
		t.Error(got)
	}
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	write(t, s, b)
	if len(told) != 2 || told[0] == nil || told[1] != nil || s.Problem() != nil || s.Stats().Errors != 2 {
		t.Errorf("told %v, problem %v, %+v", told, s.Problem(), s.Stats())
	}
}

// A file that can be read and not written still has what was made.
func TestAFileThatCannotBeWrittenIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	write(t, s, ownership.Batch{Put: []ownership.Record{rec("a", "1")}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "holder.new"), 0o700); err != nil { // cannot be signed
		t.Fatal(err)
	}
	s = open(t, dir)
	if got := content(t, s); !strings.HasPrefix(got, "a=1 ") || s.Problem() == nil {
		t.Errorf("%s, problem %v", got, s.Problem())
	}
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	dir := infratest.SmallDisk(t, "256k")
	s := open(t, dir)
	write(t, s, ownership.Batch{Put: []ownership.Record{rec("a", "1")}})
	before := content(t, s)
	big := ownership.Batch{}
	for i := range 1000 {
		big.Put = append(big.Put, rec(fmt.Sprint("big/", i), strings.Repeat("x", 1000)))
	}
	if err := s.Write(&big); !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), dir) != 1 {
		t.Fatalf("got %v", err)
	}
	if got := content(t, s); got != before || s.Problem() == nil {
		t.Errorf("after a write that failed: %s, problem %v", got, s.Problem())
	}
	write(t, s, ownership.Batch{Put: []ownership.Record{rec("b", "2")}})
	if got := content(t, s); !strings.Contains(got, "\nb=2 ") || s.Problem() != nil {
		t.Errorf("after a write that fits: %s, problem %v", got, s.Problem())
	}
}

// What the sources asked for may be a million items: they are written in order, or
// it would take hours (and this test minutes).
func TestStateOfMany(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	put := map[string][]byte{}
	for i := range 100_000 {
		put[fmt.Sprintf("config/route/%d", i)] = []byte("value")
	}
	if err := s.SaveState("wanted", put, true); err != nil {
		t.Fatal(err)
	}
	if got, err := s.LoadState("wanted"); err != nil || len(got) != len(put) {
		t.Errorf("%d items, %v", len(got), err)
	}
	var keys []string
	err := s.EachState("wanted", func(key string, data []byte) {
		if string(data) == "value" {
			keys = append(keys, key)
		}
	})
	if err != nil || len(keys) != len(put) || !slices.IsSorted(keys) {
		t.Errorf("%d items, sorted: %v, %v", len(keys), slices.IsSorted(keys), err)
	}
}
