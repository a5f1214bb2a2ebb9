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
		for _, former := range []bool{false, true} {
			checkAlias(t, owner{label, former}, name, part)
		}
	})
}

func checkAlias(t *testing.T, o owner, name, part string) {
	t.Helper()
	alias := o.alias(name, part)
	gotName, parts, ok := o.parse(alias)
	if ok != (name != "") || ok && (gotName != name || !slices.Equal(parts, []string{part})) || ok != o.is(alias, name, part) {
		t.Errorf("%q: got %q, %q, %t", alias, gotName, parts, ok)
	}
	for _, other := range []string{o.label + "x", o.label + "/x", "x" + o.label} {
		if _, _, ours := (owner{label: other}).parse(alias); ours {
			t.Errorf("%q of agent %q is taken for one of agent %q", alias, o.label, other)
		}
	}
	if _, _, ours := o.parse(name); ours {
		if back, parts, _ := o.parse(o.alias(name)); back != name || len(parts) != 0 {
			t.Errorf("%q: got %q, %q", name, back, parts)
		}
	}
}

// Aliases have the form of the predecessor, unless it has no such links.
func TestFormsOfAliases(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"/vnf-agent/vpp1/x/y": owner{"vpp1", true}.alias("x", "y"),
		"/vnf-agent/vpp1/a b": owner{"vpp1", true}.alias("a b"),
		"vpp1/a%2Fb/y":        owner{"vpp1", true}.alias("a/b", "y"),
		"vpp%2F1/x":           owner{"vpp/1", true}.alias("x"),
		"vpp1/bridge":         owner{"vpp1", false}.alias("bridge"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, alias := range []string{"/vnf-agent/vpp1/x/y", "vpp1/x/y"} {
		if !(owner{label: "vpp1"}).is(alias, "x", "y") {
			t.Errorf("%s is not recognised", alias)
		}
	}
}

func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	a, b := owner{label: "vpp1"}, owner{label: "vpp2"}
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
