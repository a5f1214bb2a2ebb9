package filedb

import (
	"testing"
	"time"
)

func TestSettle(t *testing.T) {
	t.Parallel()
	t0 := time.Unix(1000, 0)
	var s settler
	check := func(what string, want time.Duration) {
		t.Helper()
		if at, ok := s.due(); !ok || at.Sub(t0) != want {
			t.Errorf("%s: due after %v, %v, want %v", what, at.Sub(t0), ok, want)
		}
	}
	if _, ok := s.due(); ok {
		t.Error("due without changes")
	}
	s.touch(t0, false)
	check("one change", quiet)
	s.touch(t0.Add(10*time.Millisecond), true)
	check("an empty file", quietEmpty+10*time.Millisecond)
	s.touch(t0.Add(20*time.Millisecond), false)
	check("which was written", quiet+20*time.Millisecond)
	for i := range 20 {
		s.touch(t0.Add(time.Duration(i)*50*time.Millisecond), false)
	}
	check("no end of changes", latest)
	s.reset()
	if _, ok := s.due(); ok {
		t.Error("due after reset")
	}
}
