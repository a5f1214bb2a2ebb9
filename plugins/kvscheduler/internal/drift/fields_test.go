package drift_test

import (
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/drift"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A difference between secrets is reported, but not their values.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	memif := func(id uint32, secret string) *interfaces.Interface {
		return &interfaces.Interface{Name: "m", Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: id, Secret: secret}}}
	}
	for _, test := range []struct {
		a, b *interfaces.Interface
		want []api.FieldDiff
	}{
		{memif(1, "old"), memif(2, "new"), []api.FieldDiff{{Field: "memif.id", Believed: "1", Found: "2"}, {Field: "memif.secret", Believed: `"***"`, Found: `"***"`}}},
		{memif(1, "old"), memif(1, ""), []api.FieldDiff{{Field: "memif.secret", Believed: `"***"`}}},
		{memif(1, "old"), &interfaces.Interface{Name: "m"}, []api.FieldDiff{{Field: "memif", Believed: `{"id":1,"secret":"***"}`}}},
		{memif(1, "same"), memif(1, "same"), nil},
	} {
		if got := drift.Fields(test.a, test.b); !reflect.DeepEqual(got, test.want) {
			t.Errorf("got %v, want %v", got, test.want)
		}
	}
}

// What the descriptor does not mind is not why values differ.
func TestDifferencesThatMatter(t *testing.T) {
	t.Parallel()
	same := func(_ string, found, believed proto.Message) bool {
		a, b := found.(*interfaces.Interface), believed.(*interfaces.Interface)
		if a.Name != b.Name {
			panic("values of two interfaces")
		}
		return a.Mtu == b.Mtu && (a.Vrf == b.Vrf || a.Enabled == b.Enabled)
	}
	reg, err := registry.New(nil).With([]*api.KVDescriptor{{Name: "if", KeySelector: func(string) bool { return true }, ValueComparator: same}})
	if err != nil {
		t.Fatal(err)
	}
	d := reg.ByName("if")
	believed := &interfaces.Interface{Name: "a", Mtu: 9000, Vrf: 1}
	for _, test := range []struct {
		found *interfaces.Interface
		want  []string
	}{
		{&interfaces.Interface{Name: "a", Mtu: 1500, Vrf: 1, PhysAddress: "02::", IpAddresses: []string{"10.0.0.1/8"}}, []string{"mtu"}},
		{&interfaces.Interface{Name: "a", Vrf: 1}, []string{"mtu"}},
		{&interfaces.Interface{Name: "a", Mtu: 9000, Vrf: 2, Enabled: true}, []string{"enabled", "vrf"}}, // both together
		{&interfaces.Interface{Name: "b", Mtu: 9000, Vrf: 2}, []string{"name", "vrf"}},                   // unknown
	} {
		var got []string
		for _, diff := range drift.Differing(d, "a", believed, test.found) {
			got = append(got, diff.Field)
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: got %v, want %v", test.found, got, test.want)
		}
	}
}
