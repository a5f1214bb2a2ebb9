package guard

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit          string
		deleted, items int
		held           bool
	}{
		{"50%", 1, 1, true}, {"50%", 5, 5, true}, {"50%", 19, 20, false}, {"50%", 20, 20, true},
		{"50%", 10, 21, false}, {"50%", 11, 21, true}, {"50%", 212, 214, true},
		{"10%", 3, 21, true}, {"10%", 2, 21, false},
		{"all", 213, 214, false}, {"all", 214, 214, true},
		{"3", 3, 100, false}, {"3", 4, 100, true}, {"3", 2, 2, true},
		{"off", 214, 214, false},
	} {
		l, err := ParseLimit(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if got := Judge(l, Case{Items: c.items, Deleted: c.deleted}); (got != "") != c.held {
			t.Errorf("guard-deletes %s, %d of %d: %q, want held %v", c.limit, c.deleted, c.items, got, c.held)
		}
	}
	for _, text := range []string{"", "0", "-1", "0%", "101%", "half", "5.5%", "on"} {
		if _, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), "expected off, all") {
			t.Errorf("limit %q: %v", text, err)
		}
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	etcd := kv.Identity{Store: "cluster a", Revision: 53414}
	for want, c := range map[string]Case{
		"the store went back from 53414 to 120; its content would delete 212 of 214 items": {
			Before: etcd, Now: kv.Identity{Store: "cluster a", Revision: 120}, Items: 214, Deleted: 212},
		"the store went back from 53414 to 53000; its content would change 1 of 214 items": {
			Before: etcd, Now: kv.Identity{Store: "cluster a", Revision: 53000}, Items: 214, Changed: 1},
		"this is another store (cluster b, before cluster a); its content would delete 1 of 214 items and change 2": {
			Before: etcd, Now: kv.Identity{Store: "cluster b", Revision: 90000}, Items: 214, Deleted: 1, Changed: 2},
		"the server was restarted or is another one, and has lost items; its content would delete 1 of 214 items": {
			Before: kv.Identity{Run: "1"}, Now: kv.Identity{Run: "2"}, Items: 214, Deleted: 1},
		"the server evicted items to free memory (set its maxmemory-policy to noeviction); its content would delete 1 of 214 items": {
			Before: kv.Identity{Run: "1", Evicted: 3}, Now: kv.Identity{Run: "1", Evicted: 4}, Items: 214, Deleted: 1},
		"/etc/a.yaml: the file is empty; its content would delete 1 of 214 items": {
			Items: 214, Deleted: 1, Lost: map[string]string{"/etc/a.yaml": "the file is empty"}},
		"the store is empty; its content would delete 2 of 2 items":       {Items: 2, Deleted: 2, Empty: true},
		"the store has lost items; its content would delete 2 of 2 items": {Items: 2, Deleted: 2},
	} {
		l, err := ParseLimit(Default)
		if err != nil {
			t.Fatal(err)
		}
		if got := Judge(l, c); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	for name, c := range map[string]Case{
		"nothing changes":          {Before: etcd, Now: kv.Identity{Store: "cluster b", Revision: 1}, Items: 214},
		"a change of a live store": {Before: etcd, Now: kv.Identity{Store: "cluster a", Revision: 53415}, Items: 214, Deleted: 3, Changed: 100},
		"unknown now":              {Before: etcd, Items: 214, Deleted: 3},
		"unknown before":           {Now: etcd, Items: 214, Deleted: 3},
		"evictions of others":      {Before: kv.Identity{Run: "1", Evicted: 3}, Now: kv.Identity{Run: "1", Evicted: 4}, Items: 214, Changed: 1},
		"no eviction since":        {Before: kv.Identity{Run: "1", Evicted: 3}, Now: kv.Identity{Run: "1", Evicted: 3}, Items: 214, Deleted: 1},
		"a restart that lost none": {Before: kv.Identity{Run: "1"}, Now: kv.Identity{Run: "2"}, Items: 214, Changed: 1},
	} {
		l, err := ParseLimit(Default)
		if err != nil {
			t.Fatal(err)
		}
		if got := Judge(l, c); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
