package models_test

import (
	"strings"
	"testing"
	"unsafe"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/models"
)

var (
	bdModel = models.New(models.Spec{Module: "vpp.l2", Version: "v2", Type: "bridge-domain"},
		(*wrapperspb.StringValue).GetValue)
	globalModel = models.Singleton[*emptypb.Empty](models.Spec{Module: "vpp.nat", Version: "v2", Type: "nat44-global"})
	bindingKey  = models.MustKeyTemplate("vpp/bd/{bd}/interface/{iface}")
)

func TestModelKeys(t *testing.T) {
	t.Parallel()
	if got, want := bdModel.Key(wrapperspb.String("bd1")), "config/vpp/l2/v2/bridge-domain/bd1"; got != want {
		t.Errorf("key = %q, want %q", got, want)
	}
	if got, want := globalModel.Key(&emptypb.Empty{}), "config/vpp/nat/v2/nat44-global"; got != want {
		t.Errorf("singleton key = %q, want %q", got, want)
	}
	if got := bdModel.Label("config/vpp/l2/v2/bridge-domain/a/b"); got != "a/b" {
		t.Errorf("label = %q", got)
	}
	if bdModel.Matches("config/vpp/l2/v2/bridge-domain/") {
		t.Error("a key without a name must not match")
	}
	if _, err := bdModel.KeyOf(&emptypb.Empty{}); err == nil || !strings.Contains(err.Error(), "google.protobuf.StringValue") {
		t.Errorf("wrong message: %v", err)
	}
}

// KeyFor returns the right key whatever it returned before, and successive calls for one
// name share the key.
func TestKeyFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bd1", "cd1", "", "bd1", "d1", "bd11", "bd1", "e1"} {
		if got, want := bdModel.KeyFor(name), bdModel.KeyPrefix()+name; got != want {
			t.Errorf("key of %q = %q, want %q", name, got, want)
		}
	}
	first, second := bdModel.KeyFor("again"), bdModel.KeyFor("again")
	if unsafe.StringData(first) != unsafe.StringData(second) {
		t.Error("two calls for one name do not share the key")
	}
	if globalModel.KeyFor("any") != globalModel.KeyPrefix() {
		t.Error("the key of a singleton has a name")
	}
}

func TestSetLooksUpByKey(t *testing.T) {
	t.Parallel()
	set, err := models.NewSet(bdModel, globalModel)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"config/vpp/l2/v2/bridge-domain/bd1":   "vpp.l2.bridge-domain",
		"config/vpp/l2/v2/bridge-domain/a/b/c": "vpp.l2.bridge-domain",
		"config/vpp/nat/v2/nat44-global":       "vpp.nat.nat44-global",
		"config/vpp/nat/v2/nat44-global/x":     "",
		"config/vpp/l2/v2/bridge-domain/":      "",
		"config/vpp/l2/v2/fib/x":               "",
		"":                                     "",
	} {
		got := ""
		if m, ok := set.ForKey(key); ok {
			got = m.Spec().ModelName()
		}
		if got != want {
			t.Errorf("ForKey(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestSetReportsEveryClash(t *testing.T) {
	t.Parallel()
	_, err := models.NewSet(bdModel, bdModel,
		models.New(models.Spec{Module: "VPP", Type: "x"}, (*wrapperspb.Int32Value).String),
		models.New(models.Spec{Module: "other", Type: "x"}, (*wrapperspb.StringValue).GetValue))
	for _, want := range []string{"duplicate name", `module "VPP"`, "already belongs to model vpp.l2.bridge-domain"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %q", err, want)
		}
	}
}

func TestKeyTemplate(t *testing.T) {
	t.Parallel()
	if got := bindingKey.Key("bd1", ""); got != "vpp/bd/bd1/interface/<invalid>" {
		t.Errorf("empty argument: %q", got)
	}
	if got := bindingKey.Prefix("bd1"); got != "vpp/bd/bd1/interface/" {
		t.Errorf("prefix: %q", got)
	}
	args, ok := bindingKey.Parse("vpp/bd/bd1/interface/Gigabit0/8/0")
	if !ok || len(args) != 2 || args[1] != "Gigabit0/8/0" {
		t.Errorf("parse: %q %v", args, ok)
	}
	for _, key := range []string{"vpp/bd/bd1", "vpp/bd//interface/x", "vpp/bd/bd1/interface/", "x"} {
		if bindingKey.Matches(key) {
			t.Errorf("%q must not match", key)
		}
	}
}

func FuzzKeyTemplateRoundTrip(f *testing.F) {
	f.Add("bd1", "if1")
	f.Add("a/b", "c/interface/d")
	f.Add("", "<invalid>")
	f.Fuzz(func(t *testing.T, bd, iface string) {
		key := bindingKey.Key(bd, iface)
		args, ok := bindingKey.Parse(key)
		if !ok {
			t.Fatalf("%q does not parse", key)
		}
		if again := bindingKey.Key(args...); again != key {
			t.Fatalf("%q became %q", key, again)
		}
		clear := !strings.Contains(bd+"/interface", "/interface/") && bd != models.InvalidPart && iface != models.InvalidPart
		if clear && (args[0] != bd || args[1] != iface) {
			t.Fatalf("Parse(Key(%q, %q)) = %q", bd, iface, args)
		}
	})
}
