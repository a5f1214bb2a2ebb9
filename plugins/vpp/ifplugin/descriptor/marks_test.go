package descriptor

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A MAC address that VPP chose is none of the configuration, also after the value was stored.
func TestMarkedMAC(t *testing.T) {
	t.Parallel()
	i := &interfaces.Interface{Name: "a", PhysAddress: "02:00:00:00:00:01"}
	if mac := configuredMAC(i); mac != i.PhysAddress {
		t.Errorf("without a mark: %q", mac)
	}
	kvs.AddUnmodeled(i, "dst_port 8472")
	plain := proto.CloneOf(i)
	markMAC(i)
	data, err := proto.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	stored := &interfaces.Interface{}
	if err := proto.Unmarshal(data, stored); err != nil {
		t.Fatal(err)
	}
	if mac := configuredMAC(stored); mac != "" {
		t.Errorf("with a mark: %q", mac)
	}
	if got := kvs.Unmodeled(stored); !slices.Equal(got, []string{"dst_port 8472"}) {
		t.Errorf("what the model lacks: %q", got)
	}
	if got := WithoutMarks(stored); !proto.Equal(got, plain) || configuredMAC(stored) != "" {
		t.Errorf("without marks %v, expected %v", got, plain)
	}
	if configuredMAC(nil) != "" {
		t.Error("no interface has a MAC address")
	}
}
