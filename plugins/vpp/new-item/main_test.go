package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// Skeletons compile, and their tests fail with what is missing. One is of a new plugin whose
// requests are not known, one has requests, and one is an item of a plugin that exists.
func TestSkeletons(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	root := copyRepository(t)
	for _, test := range []struct {
		args []string
		want []string // in the report
	}{
		{[]string{"vpp.foo.long-name"}, []string{
			"1. proto/ligato/vpp/foo/foo.proto\n   the fields of LongName", "the field foo_long_names",
			"3. plugins/vpp/fooplugin/foo.go\n   the request of VPP that adds and removes the item, in place of show_vpe_system_time",
			"4. plugins/govppmux/vppsim/internal/vnet/foo.go\n", "5. plugins/govppmux/vppsim/testdata/foo.script\n",
			"6. plugins/vpp/vpptest/catalogue/foo.go\n", "7. README.md\n", "-item vpp.foo.long-name\n",
		}},
		{[]string{"-request", "npt66_binding_add_del", "vpp.npt66.binding"}, []string{"npt66_binding_add_del also has: internal, external"}},
		{[]string{"-request", "igmp_enable_disable", "-dump", "igmp_dump", "vpp.svs.address"}, []string{
			"plugins/vpp/svsplugin/address.go", "Operations has to list addresses, and Register has to add NewAddress",
			"vnet/svs_address.go", "testdata/svs_address.script", "catalogue/svs_address.go",
		}},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), append([]string{"-root", root}, test.args...), &out); err != nil {
			t.Fatalf("%v: %v", test.args, err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: expected %q in\n%s", test.args, want, &out)
			}
		}
	}
	infratest.Fatal(t, replace(filepath.Join(root, "plugins/vpp/svsplugin/svs.go"), map[string]string{
		"Operations{tables,": "Operations{addresses, tables,", "to.Add(NewTable(to.VPP),": "to.Add(NewAddress(to.VPP, to.Interfaces), NewTable(to.VPP),",
	}))
	command := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := command("vet", "-trimpath", "./plugins/vpp/fooplugin", "./plugins/vpp/npt66plugin", "./plugins/vpp/svsplugin",
		"./plugins/vpp/vpptest/catalogue", "./plugins/govppmux/vppsim/internal/vnet"); err != nil {
		t.Fatal(out)
	}
	out, err := command("test", "-trimpath", "-vet=off", "-ldflags=-s -w", "./plugins/vpp/vpptest",
		"-run", "^(TestCatalogueIsComplete|TestItems)$/^(simulator)?$/^vpp.(foo.long-name|npt66.binding|svs.address)$")
	if err == nil {
		t.Error("the tests of skeletons succeed")
	}
	for _, want := range []string{
		"create config/vpp/foo/v1/long-name/lo: the skeleton of vpp.foo.long-name has no request of VPP yet",
		"vpp.foo.long-name: ByHand is empty, and Without has no reason",
		"vpp.foo.long-name: Refusals is empty, and Without has no reason",
		"vpp.npt66.binding: Updates is empty, and Without has no reason",
		"vpp.svs.address: Conflicts is empty, and Without has no reason",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the tests do not say %q", want)
		}
	}
	for _, bad := range []string{"build failed", "panic", "vpp.npt66.binding: ByHand", "simulator/vpp.npt66.binding", "simulator/vpp.svs.address"} {
		if strings.Contains(out, bad) {
			t.Errorf("the tests say %q", bad)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// copyRepository copies the repository without what is built.
func copyRepository(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	const from = "../../.."
	infratest.Fatal(t, filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (below == ".git" || below == "bin" || below == "dist"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, below), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, below), text, 0o644)
	}))
	return to
}

// replace replaces texts in a file, which has each of them.
func replace(name string, by map[string]string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for old, with := range by {
		text = bytes.Replace(text, []byte(old), []byte(with), 1)
	}
	return os.WriteFile(name, text, 0o644)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"0 arguments; expected one":                     {},
		`"foo.bar": expected the name of a model`:       {"foo.bar"},
		`"vpp.teib": expected the name of a model`:      {"vpp.teib"},
		`"vpp.Foo.bar": expected the name of a model`:   {"vpp.Foo.bar"},
		"-dump svs_dump: expected -request, too":        {"-dump", "svs_dump", "vpp.foo.bar"},
		`"svs_add" is no message of VPP 25.10`:          {"-request", "svs_add", "vpp.foo.bar"},
		"no field for an interface":                     {"-request", "svs_table_add_del", "vpp.foo.bar"},
		"or none that begins with is_add":               {"-request", "sw_interface_set_mtu", "vpp.foo.bar"},
		"expected a message that ends in _dump":         {"-request", "svs_enable_disable", "-dump", "svs_details", "vpp.foo.bar"},
		"its records have no field for an interface":    {"-request", "svs_enable_disable", "-dump", "fib_source_dump", "vpp.foo.bar"},
		"expected a message of go.fd.io/govpp/binapi/s": {"-request", "svs_enable_disable", "-dump", "igmp_dump", "vpp.foo.bar"},
		"svs.proto: has the message Table already":      {"vpp.svs.table"},
	} {
		err := run(t.Context(), append([]string{"-root", "../../.."}, args...), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, expected %q", args, err, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"vpp.foo.bridge-domain": "BridgeDomain bridgeDomain bridgeDomains fooBridgeDomains newFooBridgeDomains",
		"vpp.foo.interface":     "Interface interfaceItem interfaceItems fooInterfaces newFooInterfaces",
		"vpp.foo.address":       "Address address addresses fooAddresses newFooAddresses",
		"vpp.foo.policy":        "Policy policy policies fooPolicies newFooPolicies",
	} {
		i, err := newItem(".", model)
		infratest.Fatal(t, err)
		if got := strings.Join([]string{i.words["Item"], i.words["item"], i.words["items"], i.words["vnet"], "new" + i.words["VNet"]}, " "); got != want {
			t.Errorf("%s: got %s, expected %s", model, got, want)
		}
	}
}

func TestConfigData(t *testing.T) {
	t.Parallel()
	const text = "import \"ligato/vpp/abc/x.proto\";\nimport \"ligato/vpp/svs/svs.proto\";\n\nmessage ConfigData {\n  repeated svs.Table tables = 3; // old\n}\n\nmessage X {\n  int32 x = 99;\n}\n"
	got, err := withField(text, "foo", "Bar", "foo_bars")
	infratest.Fatal(t, err)
	want := strings.Replace(strings.Replace(text, "// old\n", "// old\n  repeated foo.Bar foo_bars = 10;\n", 1), "import \"ligato/vpp/svs", "import \"ligato/vpp/foo/foo.proto\";\nimport \"ligato/vpp/svs", 1)
	if got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
	got, err = withField(text, "svs", "Route", "svs_routes")
	if want := strings.Replace(text, "// old\n", "// old\n  repeated svs.Route svs_routes = 4;\n", 1); err != nil || got != want {
		t.Errorf("%v: got\n%s\nexpected\n%s", err, got, want)
	}
	if _, err := withField("", "a", "B", "c"); err == nil {
		t.Error("a file without ConfigData has no error")
	}
}
