package drift_test

import (
	"reflect"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/drift"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// That a secret differs is told, but not how.
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
