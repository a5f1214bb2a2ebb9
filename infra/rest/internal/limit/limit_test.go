package limit

import (
	"fmt"
	"testing"
	"time"
)

func TestEachClientHasItsOwnBound(t *testing.T) {
	t.Parallel()
	l, now := New(2, 3), time.Unix(1000, 0)
	for i := range 3 {
		if ok, _ := l.Allow("a", now); !ok {
			t.Errorf("request %d of the burst was refused", i)
		}
	}
	if ok, wait := l.Allow("a", now); ok || wait != 500*time.Millisecond {
		t.Errorf("after the burst: %v, wait %v", ok, wait)
	}
	if ok, _ := l.Allow("b", now); !ok {
		t.Error("another client was refused")
	}
	if ok, _ := l.Allow("a", now.Add(500*time.Millisecond)); !ok {
		t.Error("rejected after the reported wait")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	l, now := New(1, 1), time.Unix(1000, 0)
	allowed := 0
	for i := range 3 * maxClients {
		if ok, _ := l.Allow(fmt.Sprint(i), now); ok {
			allowed++
		}
	}
	if len(l.clients) != maxClients || allowed != maxClients+1 {
		t.Errorf("%d clients are remembered, %d were allowed", len(l.clients), allowed)
	}
	now = now.Add(time.Second)
	if ok, _ := l.Allow("new", now); !ok || len(l.clients) != 1 {
		t.Errorf("later: %v, %d clients are remembered", ok, len(l.clients))
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "@": "", "": "",
		"[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64",
	} {
		if got := Client(remote); got != want {
			t.Errorf("%s: got %q, want %q", remote, got, want)
		}
	}
}
