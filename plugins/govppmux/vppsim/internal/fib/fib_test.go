package fib_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip_types"
	"pgregory.net/rapid"
)

// text prints tables with everything that dumps show.
func text(f *fib.Tables) string {
	var b strings.Builder
	for family := range fib.Families {
		for t := range f.All(family) {
			fmt.Fprintf(&b, "%s %d\n", family, t.ID)
			for prefix, entry := range t.Sorted() {
				fmt.Fprintf(&b, "  %s source %d", prefix, entry.Best().ID)
				for _, p := range t.Paths(prefix, entry) {
					path := p.Encode()
					fmt.Fprintf(&b, " %+v", path)
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

func recursive(nextHop string, table uint32) fib_types.FibPath {
	addr := netip.MustParseAddr(nextHop)
	return fib_types.FibPath{
		SwIfIndex: fib.None, TableID: table, Weight: 1,
		Nh: fib_types.FibPathNh{Address: ip_types.AddressUnionIP4(addr.As4())},
	}
}

func attached(nextHop string, out uint32) fib_types.FibPath {
	p := recursive(nextHop, 0)
	p.SwIfIndex = out
	return p
}

// op is one change of a random sequence.
type op struct {
	table  uint32
	prefix netip.Prefix
	source fib.SourceID
	paths  []fib_types.FibPath
	kind   string
}

func genOp(t *rapid.T) op {
	addr := rapid.SampledFrom([]string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "20.0.0.1", "0.0.0.0"}).Draw(t, "addr")
	o := op{
		table:  rapid.SampledFrom([]uint32{0, 5}).Draw(t, "table"),
		prefix: netip.PrefixFrom(netip.MustParseAddr(addr), rapid.SampledFrom([]int{0, 8, 24, 32}).Draw(t, "len")),
		source: rapid.SampledFrom([]fib.SourceID{fib.SourceAPI, fib.SourceInterface, fib.SourceADJ}).Draw(t, "source"),
		kind:   rapid.SampledFrom([]string{"add", "set", "remove paths", "remove"}).Draw(t, "kind"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "paths") {
		next := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "20.0.0.1", "0.0.0.0"}).Draw(t, "next hop")
		if rapid.Bool().Draw(t, "recursive") {
			o.paths = append(o.paths, recursive(next, rapid.SampledFrom([]uint32{0, 5}).Draw(t, "via table")))
		} else {
			o.paths = append(o.paths, attached(next, rapid.Uint32Range(1, 3).Draw(t, "out")))
		}
	}
	return o
}

func (o *op) apply(f *fib.Tables) {
	t := f.Table(fib.IP4, o.table)
	if t == nil {
		return
	}
	var paths []fib.Path
	for at := range o.paths {
		if p, rv := f.Decode(&o.paths[at], o.prefix, func(uint32) bool { return true }); rv == 0 {
			paths = append(paths, p)
		}
	}
	switch o.kind {
	case "add":
		if len(paths) > 0 {
			f.Add(t, o.prefix, o.source, paths)
		}
	case "set":
		if len(paths) > 0 {
			f.Set(t, o.prefix, o.source, paths)
		}
	case "remove paths":
		f.RemovePaths(t, o.prefix, o.source, paths)
	case "remove":
		f.Remove(t, o.prefix, o.source)
	}
}

// TestNothingStaysBehind: after any changes, taking away every source leaves the
// tables as new: unused next hops keep nothing.
func TestNothingStaysBehind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := fib.New(fib.Options{})
		f.Create(fib.IP4, 5, "blue").API = true
		fresh := text(f)
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			o := genOp(t)
			o.apply(f)
			_ = text(f) // resolving must terminate whatever the routes look like
		}
		for table := range f.All(fib.IP4) {
			for _, source := range []fib.SourceID{fib.SourceAPI, fib.SourceInterface, fib.SourceADJ} {
				f.Flush(table, source)
			}
		}
		if got := text(f); got != fresh {
			t.Fatalf("left behind:\n%s\nexpected:\n%s", got, fresh)
		}
	})
}

// TestOrderOfAdding: the same routes make the same tables in any order.
func TestOrderOfAdding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ops []op
		seen := make(map[string]bool)
		for range rapid.IntRange(2, 12).Draw(t, "routes") {
			o := genOp(t)
			o.kind, o.prefix = "add", o.prefix.Masked()
			if key := fmt.Sprint(o.table, o.prefix, o.source); !seen[key] {
				seen[key] = true
				ops = append(ops, o)
			}
		}
		shuffled := rapid.Permutation(ops).Draw(t, "order")
		texts := make([]string, 2)
		for at, order := range [][]op{ops, shuffled} {
			f := fib.New(fib.Options{})
			f.Create(fib.IP4, 5, "blue").API = true
			for _, o := range order {
				o.apply(f)
			}
			texts[at] = text(f)
		}
		if texts[0] != texts[1] {
			t.Fatalf("one order:\n%s\nanother:\n%s", texts[0], texts[1])
		}
	})
}

func TestTableLives(t *testing.T) {
	t.Parallel()
	f := fib.New(fib.Options{})
	blue := f.Create(fib.IP4, 5, "")
	if blue.Name != "ipv4-VRF:5" {
		t.Errorf("name %q", blue.Name)
	}
	red := f.Table(fib.IP4, 0)
	through := recursive("0.0.0.0", 5)
	path, rv := f.Decode(&through, netip.MustParsePrefix("30.0.0.0/8"), func(uint32) bool { return true })
	if rv != 0 {
		t.Fatal(rv)
	}
	f.Set(red, netip.MustParsePrefix("30.0.0.0/8"), fib.SourceAPI, []fib.Path{path})
	f.Release(blue)
	if f.Table(fib.IP4, 5) == nil {
		t.Error("a table that routes look up in is gone")
	}
	f.Remove(red, netip.MustParsePrefix("30.0.0.0/8"), fib.SourceAPI)
	if f.Table(fib.IP4, 5) != nil {
		t.Error("a table that nothing holds is still there")
	}
}
