package vppcalls

import (
	"slices"
	"strings"
	"testing"
)

func TestShownTables(t *testing.T) {
	t.Parallel()
	const text = "ipv4-VRF:0, fib_index:0, flow hash:[src dst ] epoch:0 flags:none locks:[default-route:1, ]\n" +
		"    Prefix length         Count     \n                   0               1\n" +
		"a, fib_index:9, b, fib_index:7, flow hash:[src ] epoch:0 flags:none locks:[API:1, ]\n" +
		"out of range, fib_index:4294967296, flow hash:[]\n"
	want := []shownTable{{"ipv4-VRF:0", 0}, {"a, fib_index:9, b", 7}}
	if got := shownTables(text); !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}

func TestParseNeighborLimits(t *testing.T) {
	t.Parallel()
	const text = "ip4:\n  limit:50000, age:240, recycle:0\nip6:\n  limit:77, age:0, recycle:1\n"
	got, err := parseNeighborLimits(text)
	if want := [2]neighborLimits{{50000, 240, false}, {77, 0, true}}; err != nil || got != want {
		t.Errorf("%v, %v; expected %v", got, err, want)
	}
	for _, wrong := range []string{
		"", "ip4:\n  limit:50000, age:240, recycle:0\n", "ip6:\n  limit:77, age:0, recycle:1\n",
		strings.Replace(text, "240", "-1", 1), strings.Replace(text, "77", "many", 1),
	} {
		if got, err := parseNeighborLimits(wrong); err == nil {
			t.Errorf("%q: %v, expected an error", wrong, got)
		}
	}
}

func FuzzCLI(f *testing.F) {
	f.Add("ip4:\n  limit:50000, age:240, recycle:0\nip6:\n  limit:77, age:0, recycle:1\n")
	f.Add("ipv4-VRF:0, fib_index:0, flow hash:[src dst ] epoch:0 flags:none locks:[default-route:1, ]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if limits, err := parseNeighborLimits(text); err == nil && !strings.Contains(text, "ip6:") {
			t.Errorf("%v out of nothing", limits)
		}
		if n := len(shownTables(text)); n > strings.Count(text, "\n")+1 {
			t.Errorf("%d tables in %d lines", n, strings.Count(text, "\n")+1)
		}
	})
}
