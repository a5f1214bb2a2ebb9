package linuxtest_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels/spelled"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// Each address of each item may be written in other ways: neither another spelling nor a resync
// changes anything. Two spellings of the name of one item are one item of Linux. What is no address is
// refused, with the field.
func TestAddressSpellings(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	makeForeign(t, w)
	all := append(catalogue(t, "catalogue.json"), &l3.Nexthop{Name: "nh", Id: 7, OutgoingInterface: "x", GwAddr: "10.1.0.2"},
		&l3.Nexthop{Name: "nh6", Id: 8, OutgoingInterface: "x", GwAddr: "fd00:1::2"})
	a := linuxtest.Start(t, w)
	must(t, a.Apply(all...))
	settle(t, a, all)
	missing := map[protoreflect.FullName]bool{}
	for _, v := range all {
		for _, f := range spelled.Fields(v.ProtoReflect().Descriptor()) {
			missing[f] = true
		}
	}
	for at, base := range all {
		for _, s := range spelled.Of(base) {
			delete(missing, s.Name)
			spell(t, a, all, at, s)
		}
	}
	for f := range missing {
		t.Errorf("no item has an address in %s", f)
	}
}

// spell writes item number at of the configuration in another way.
func spell(t *testing.T, a *linuxtest.Agent, all []proto.Message, at int, s spelled.Spelling) {
	t.Helper()
	base, key, what := all[at], linuxtest.Key(t, s.Value), linuxtest.Key(t, all[at])+" "+s.Field+" "+s.Text
	renamed := key != linuxtest.Key(t, base)
	if renamed && s.Form == spelled.Same {
		if err := a.Apply(s.Value); err == nil || !strings.Contains(err.Error(), "the same item as "+linuxtest.Key(t, base)) {
			t.Errorf("%s besides the item: error %v", what, err)
		}
		a.Expect(configured, base)
	}
	if renamed {
		must(t, a.Delete(base))
	}
	err := a.Apply(s.Value)
	ops := a.Executed()
	switch {
	case err != nil && s.Form == spelled.Same, err == nil && s.Form == spelled.Wrong:
		t.Errorf("%s: error %v", what, err)
	case err != nil && !strings.Contains(err.Error(), s.Field) && !strings.Contains(err.Error(), s.Text):
		t.Errorf("%s: the error names no field: %v", what, err)
	case err == nil:
		a.Quiet("it is configured", func() bool { return a.State(key).GetState() == configured })
		if len(ops) > 0 && !renamed && s.Form == spelled.Same {
			t.Errorf("%s takes %q", what, ops)
		}
		now := append([]proto.Message{}, all...)
		now[at] = s.Value
		if s.Form == spelled.Same {
			unchanged(t, a, what, now)
			break
		}
		a.Quiet("a resync has nothing to do", func() bool { must(t, a.Resync(now...)); return len(a.Executed()) == 0 })
	}
	if renamed {
		must(t, a.Delete(s.Value))
	}
	must(t, a.Apply(base))
	settle(t, a, all)
}

// settle waits until all items are configured.
func settle(t *testing.T, a *linuxtest.Agent, all []proto.Message) {
	t.Helper()
	a.Quiet("everything is configured", func() bool {
		return !slices.ContainsFunc(all, func(v proto.Message) bool { return a.State(linuxtest.Key(t, v)).GetState() != configured })
	})
}

// unchanged checks that a resync has nothing to do.
func unchanged(t *testing.T, a *linuxtest.Agent, what string, all []proto.Message) {
	t.Helper()
	must(t, a.Resync(all...))
	if ops := a.Executed(); len(ops) > 0 {
		t.Errorf("%s: resync had to %q", what, ops)
	}
}
