package binapi

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A connection that is closed is removed by VPP on request, that for dumps too; a VPP that does not
// do so delays Close by a second.
func TestCloseRemovesTheClient(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(func(*incoming) {})
			s.deaf = deaf
			c := dialPipe(t, s, Options{})
			if _, err := c.dumpConnection(t.Context()); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			took := time.Since(start)
			s.close()
			if slices.Sort(s.left); !slices.Equal(s.left, []uint32{0, 1}) {
				t.Errorf("removal of connections %v was asked for, expected 0 and 1", s.left)
			}
			if want := map[bool]time.Duration{false: 0, true: DefaultCloseTimeout}[deaf]; took != want {
				t.Errorf("Close took %v, expected %v", took, want)
			}
		})
	}
}
