package statseg_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg/statsegtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, segment []byte) (*statseg.Segment, *statsegtest.Server) {
	tb.Helper()
	server := statsegtest.Serve(tb, segment)
	s, err := statseg.Open(tb.Context(), server.Socket)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s, server
}

func sample() *statsegtest.Builder {
	return new(statsegtest.Builder).
		Scalar("/sys/heartbeat", 7).Entry("/sys/rate", statseg.Gauge, 9).
		Names("/if/names", "local0", "", "tap0").
		Simple("/node/errors", []uint64{1, 2, 3}, []uint64{10, 20}).
		Combined("/if/rx", []statseg.Count{{Packets: 1, Bytes: 60}}, []statseg.Count{{Packets: 2, Bytes: 120}}).
		Symlink("/err/a/b", "/node/errors", 1).Symlink("/err/a/c", "/node/errors", 2).
		Entry("/gone", statseg.Empty, 0).Entry("/unset", statseg.Simple, 0)
}

func TestRead(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sample().Bytes())
	err := s.Read(t.Context(), func(d *statseg.Directory) error {
		check := func(what string, got, want any, err error) {
			t.Helper()
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, %v; expected %v", what, got, err, want)
			}
		}
		for name, want := range map[string]uint64{"/sys/heartbeat": 7, "/sys/rate": 9} {
			v, ok, err := d.Scalar(name)
			check(name, v, want, err)
			check(name, ok, true, err)
		}
		_, ok, err := d.Scalar("/absent")
		check("absent", ok, false, err)
		names, err := d.Names("/if/names")
		check("names", names, []string{"local0", "", "tap0"}, err)
		simple, err := d.Simple("/node/errors")
		check("simple", simple, [][]uint64{{1, 2, 3}, {10, 20}}, err)
		none, err := d.Simple("/unset")
		check("unset", none, [][]uint64(nil), err)
		combined, err := d.Combined("/if/rx")
		check("combined", combined, [][]statseg.Count{{{Packets: 1, Bytes: 60}}, {{Packets: 2, Bytes: 120}}}, err)
		sums := map[string]uint64{}
		for e := range d.All() {
			if e.Name == "/gone" {
				t.Error("a removed entry is listed")
			}
			if e.Kind == statseg.Symlink {
				sum, err := d.Sum(e)
				if err != nil {
					t.Error(err)
				}
				sums[e.Name] = sum
			}
		}
		check("sums", sums, map[string]uint64{"/err/a/b": 22, "/err/a/c": 3}, nil)
		if _, err := d.Names("/if/rx"); err == nil {
			t.Error("counters were read as names")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What VPP changes while it is read is read again, and what was wrong with it
// meanwhile does not matter.
func TestReadsAgainWhenTheDirectoryChanges(t *testing.T) {
	t.Parallel()
	s, server := open(t, sample().Bytes())
	calls := 0
	err := s.Read(t.Context(), func(*statseg.Directory) error {
		calls++
		if calls < 3 {
			server.Poke(2, uint64(100+calls))
			return errors.New("nonsense")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v; expected 3", calls, err)
	}
	failure := errors.New("not ours")
	if err := s.Read(t.Context(), func(*statseg.Directory) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error of the function: %v", err)
	}
}

// A VPP that died while it changed the directory leaves it like that for ever.
func TestBusyForEver(t *testing.T) {
	t.Parallel()
	s, server := open(t, sample().Bytes())
	server.Poke(3, 1)
	err := s.Read(t.Context(), func(*statseg.Directory) error { t.Error("called"); return nil })
	if !errors.Is(err, statseg.ErrBusy) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := s.Read(ctx, nil); !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
}

// A VPP that listens and does not answer costs what the context allows.
func TestOpenIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	if _, err := statseg.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no listener: %v", err)
	}
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := statseg.Open(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no reply: %v", err)
	}
}

func TestWrongVersion(t *testing.T) {
	t.Parallel()
	s, server := open(t, sample().Bytes())
	server.Poke(0, 3)
	err := s.Read(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "version 3, expected 2") {
		t.Errorf("error %v", err)
	}
	small := statsegtest.Serve(t, []byte("short"))
	if s, err := statseg.Open(t.Context(), small.Socket); err == nil {
		t.Errorf("a file of 5 bytes was taken for a segment: %v", s.Close())
	}
}

// readAll reads all that there is, whatever it is.
func readAll(d *statseg.Directory) error {
	var errs []error
	for e := range d.All() {
		_, _, err := d.Scalar(e.Name)
		errs = append(errs, err)
		_, err = d.Simple(e.Name)
		errs = append(errs, err)
		_, err = d.Combined(e.Name)
		errs = append(errs, err)
		_, err = d.Names(e.Name)
		errs = append(errs, err)
		_, err = d.Sum(e)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Nothing in a segment is believed.
func FuzzRead(f *testing.F) {
	good := sample().Bytes()
	f.Add(good)
	f.Add(good[:len(good)/2])
	for _, at := range []int{8, 32, 33, 70, 200, 300} {
		bad := append([]byte(nil), good...)
		bad[at] ^= 0xff
		f.Add(bad)
	}
	path := filepath.Join(f.TempDir(), "segment")
	f.Fuzz(func(t *testing.T, segment []byte) {
		segment = bytes.Clone(segment)
		if len(segment) >= 40 {
			clear(segment[24:32]) // "the directory changes": Read would wait, and again for each input
		}
		if err := os.WriteFile(path, segment, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := statseg.OfFile(file)
		if err != nil {
			return
		}
		defer s.Close()
		_ = s.Read(t.Context(), readAll) // the error is of any kind
	})
}
