package reference

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	ifs "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/descriptor"
	l2 "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/descriptor"
	l3 "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vppplugins"
)

// writeReleases reports by which message each release of VPP makes an item. What it
// says is what the plugins choose by: the names and CRCs of the messages.
func writeReleases(t *testing.T, w *writer) {
	releases := binding.Releases()
	tables := make([]binding.Table, len(releases))
	for n, r := range releases {
		table, err := binding.Release(r)
		if err != nil {
			t.Fatal(err)
		}
		tables[n] = table
	}
	w.printf("\nThe releases are %s.\n", strings.Join(releases, ", "))
	w.heading("item", "plugin of VPP", "message")
	all := slices.Concat(ifs.Capabilities(), l2.Capabilities(), l3.Capabilities())
	for _, p := range vppplugins.New() {
		all = append(all, p.Spec().Operations.Capabilities()...)
	}
	for _, c := range all {
		var uses []string
		for n := range releases {
			a, err := c.Of(tables[n])
			if err != nil {
				t.Fatal(err)
			}
			name := a.Uses[:max(0, strings.LastIndex(a.Uses, "_"))]
			if name == "" {
				t.Logf("%s on %s: lacks %v", c.Item, releases[n], a.Missing)
			}
			uses = append(uses, name)
		}
		w.row(c.Item, c.Plugin, ranges(releases, uses))
	}
}

// ranges says which releases use what, the newest first.
func ranges(releases, uses []string) string {
	var out []string
	for from := 0; from < len(uses); {
		to := from
		for to+1 < len(uses) && uses[to+1] == uses[from] {
			to++
		}
		what := code(uses[from])
		if what == "" {
			what = "UNIMPLEMENTED"
		}
		switch {
		case from == 0 && to == len(uses)-1:
		case from == 0:
			what += " until " + releases[to]
		case to == len(uses)-1:
			what += " from " + releases[from]
		default:
			what += fmt.Sprintf(" from %s to %s", releases[from], releases[to])
		}
		out = append(out, what)
		from = to + 1
	}
	slices.Reverse(out)
	return strings.Join(out, ", ")
}

func TestRanges(t *testing.T) {
	releases := []string{"1", "2", "3", "4"}
	for want, uses := range map[string][]string{
		"`a`":                     {"a", "a", "a", "a"},
		"`b` from 4, `a` until 3": {"a", "a", "a", "b"},
		"UNIMPLEMENTED from 3, `b` from 2 to 2, UNIMPLEMENTED until 1": {"", "b", "", ""},
	} {
		if got := ranges(releases, uses); got != want {
			t.Errorf("%v: %s, expected %s", uses, got, want)
		}
	}
}
