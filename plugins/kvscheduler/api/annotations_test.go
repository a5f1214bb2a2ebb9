package api_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Values that violate their annotations are invalid, whatever the descriptor checks, and no callback
// of the descriptor gets them.
func TestAdaptChecksAnnotations(t *testing.T) {
	t.Parallel()
	var validated, correlated []proto.Message
	d := api.Adapt(&api.Descriptor[*l3.TeibEntry, any]{
		NBKeyPrefix: "k",
		Validate: func(_ string, v *l3.TeibEntry) error {
			validated = append(validated, v)
			return nil
		},
		RetrieveContext: func(_ context.Context, correlate []api.KV[*l3.TeibEntry, any]) ([]api.KV[*l3.TeibEntry, any], error) {
			for _, kv := range correlate {
				correlated = append(correlated, kv.Value)
			}
			return nil, nil
		},
	})
	good, bad := &l3.TeibEntry{Interface: "a", PeerAddr: "10.0.0.1", NextHopAddr: "10.0.0.2"}, &l3.TeibEntry{PeerAddr: "x", NextHopAddr: "y"}
	err := d.Validate("k", bad)
	var invalid *api.InvalidValueError
	if want := "interface: empty, expected the name of an interface\npeer_addr: \"x\": expected an IP address\nnext_hop_addr: \"y\": expected an IP address"; err == nil || err.Error() != want {
		t.Errorf("error is %v, expected %s", err, want)
	} else if !errors.As(err, &invalid) || len(invalid.Fields()) != 1 || invalid.Fields()[0] != "interface" {
		t.Errorf("fields are %v, expected interface first", invalid)
	}
	if err := d.Validate("k", good); err != nil {
		t.Error(err)
	}
	if _, err := d.RetrieveContext(t.Context(), []api.KVWithMetadata{{Key: "a", Value: bad}, {Key: "b", Value: good}}); err != nil {
		t.Error(err)
	}
	for name, got := range map[string][]proto.Message{"Validate": validated, "Retrieve": correlated} {
		if len(got) != 1 || got[0] != good {
			t.Errorf("%s got %v, expected %v alone", name, got, good)
		}
	}
	wrong := &l3.ProxyARP_Range{FirstIpAddr: "x"}
	if err := d.Validate("k", wrong); err == nil || !errors.Is(err, api.ErrPermanent) {
		t.Errorf("error for a value of another type: %v", err)
	}
	derived := api.Adapt(&api.Descriptor[*l3.TeibEntry, any]{})
	if err := derived.Validate("k", &l3.TeibEntry{PeerAddr: "10.0.0.1"}); err != nil {
		t.Errorf("a derived value may lack required fields, but: %v", err)
	}
	if any := api.Adapt(&api.Descriptor[proto.Message, any]{}); any.Validate("k", wrong) == nil || any.Validate("k", bad) == nil || any.Validate("k", good) != nil {
		t.Error("a descriptor for several types checks the annotations of each")
	}
}
