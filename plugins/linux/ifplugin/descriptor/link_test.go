package descriptor

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// Names of any kind return from an alias, and no other agent claims it.
func FuzzAlias(f *testing.F) {
	f.Add("vpp1", "veth-a", "veth-b")
	f.Add("a/b", "x/y z", "%2F")
	f.Add("a", "ž\x00\xff", "/")
	f.Fuzz(func(t *testing.T, label, name, part string) {
		o := owner{label}
		alias := o.alias(name, part)
		gotName, parts, ok := o.parse(alias)
		if ok != (name != "") || ok && (gotName != name || !slices.Equal(parts, []string{part})) {
			t.Errorf("%q: got %q, %q, %t", alias, gotName, parts, ok)
		}
		for _, other := range []string{label + "x", label + "/x", "x" + label} {
			if _, _, ours := (owner{other}).parse(alias); ours {
				t.Errorf("%q of agent %q is taken for one of agent %q", alias, label, other)
			}
		}
		if _, _, ours := o.parse(name); ours {
			if back, parts, _ := o.parse(o.alias(name)); back != name || len(parts) != 0 {
				t.Errorf("%q: got %q, %q", name, back, parts)
			}
		}
	})
}

func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	a, b := owner{"vpp1"}, owner{"vpp2"}
	for _, name := range []string{"x", "a-rather-long-name/with/slashes"} {
		if n := a.temporary(name); len(n) > maxHostName || n == b.temporary(name) || n == a.temporary(name+"y") {
			t.Errorf("temporary name of %q is %q", name, n)
		}
	}
	link := netlinkapi.Link{Name: a.temporary("x"), Kind: netlinkapi.KindVeth}
	if !a.orphan(link) || b.orphan(link) {
		t.Error("an interrupted creation is not recognised by its own agent alone")
	}
	if link.Alias = "other"; a.orphan(link) {
		t.Error("a marked link is taken for an orphan")
	}
}
