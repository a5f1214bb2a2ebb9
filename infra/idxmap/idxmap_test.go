package idxmap_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

type ifMeta struct {
	Index uint32
	IPs   []string
}

var (
	byIndex = idxmap.Index[*ifMeta, uint32]{Name: "sw_if_index", Keys: func(m *ifMeta) []uint32 { return []uint32{m.Index} }}
	byIP    = idxmap.Index[*ifMeta, string]{Name: "ip", Keys: func(m *ifMeta) []string { return m.IPs }}
)

func put(t *testing.T, s *idxmap.Store, label string, m any) {
	t.Helper()
	infratest.Fatal(t, s.Put(label, m))
}

func TestIndexesFollowChanges(t *testing.T) {
	t.Parallel()
	s := idxmap.New[*ifMeta]("interfaces")
	m, err := idxmap.Of[*ifMeta](s)
	infratest.Fatal(t, err)
	put(t, s, "b", &ifMeta{1, []string{"10.0.0.1"}})
	put(t, s, "a", &ifMeta{2, []string{"10.0.0.1", "10.0.0.2"}})
	if got := byIP.Lookup(m, "10.0.0.1"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("by ip: %q", got)
	}
	put(t, s, "a", &ifMeta{7, nil})
	if got := byIP.Lookup(m, "10.0.0.2"); len(got) != 0 {
		t.Errorf("stale index entry: %q", got)
	}
	if got := byIndex.Lookup(m, 7); !slices.Equal(got, []string{"a"}) {
		t.Errorf("by index: %q", got)
	}
	s.Delete("a")
	if got := byIndex.Lookup(m, 7); len(got) != 0 {
		t.Errorf("index of a removed item: %q", got)
	}
	if got := m.Labels(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("labels: %q", got)
	}
}

func TestTypeIsChecked(t *testing.T) {
	t.Parallel()
	s := idxmap.New[*ifMeta]("interfaces")
	if _, err := idxmap.Of[string](s); err == nil {
		t.Error("a view of another type must be refused")
	}
	if err := s.Put("a", 3); err == nil {
		t.Error("a value of another type must be refused")
	}
	var none *idxmap.Store
	if _, err := idxmap.Of[string](none); err == nil {
		t.Error("a view of nothing must be refused")
	}
	plain := idxmap.New[any]("plain")
	put(t, plain, "a", 3)
	m, err := idxmap.Of[int](plain)
	infratest.Fatal(t, err)
	if v, ok := m.Get("a"); !ok || v != 3 {
		t.Errorf("got %v %v", v, ok)
	}
}

// A slow watcher sees the last state of every label, and deletions.
func TestChangesAreMergedNeverLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := idxmap.New[*ifMeta]("interfaces")
		m, err := idxmap.Of[*ifMeta](s)
		infratest.Fatal(t, err)
		put(t, s, "a", &ifMeta{Index: 1})
		put(t, s, "b", &ifMeta{Index: 1})
		ctx, cancel := context.WithCancel(t.Context())
		steps := make(chan idxmap.Change[*ifMeta])
		done := make(chan struct{})
		go func() {
			defer close(done)
			for c := range m.Changes(ctx) {
				steps <- c
			}
		}()
		if c := <-steps; c.Label != "a" || c.Deleted {
			t.Errorf("first: %+v", c)
		}
		for i := range uint32(1000) {
			put(t, s, "a", &ifMeta{Index: i})
		}
		s.Delete("b")
		if c := <-steps; c.Label != "b" || c.Deleted {
			t.Errorf("second, from the first snapshot: %+v", c)
		}
		if c := <-steps; c.Label != "a" || c.Value.Index != 999 {
			t.Errorf("merged: %+v", c)
		}
		if c := <-steps; c.Label != "b" || !c.Deleted {
			t.Errorf("deletion: %+v", c)
		}
		cancel()
		<-done
	})
}
