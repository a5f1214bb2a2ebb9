package api_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// What a value has besides the fields of its model is stored with it. Each kind is removed alone.
func TestNotes(t *testing.T) {
	t.Parallel()
	value := structpb.NewStringValue("x")
	api.AddUnmodeled(value, "dst_port 8472")
	unmodeled := proto.CloneOf(value)
	api.AddDefaulted(value, "phys_address", "mtu")
	data, err := proto.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	stored := &structpb.Value{}
	if err := proto.Unmarshal(data, stored); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(stored, value) {
		t.Errorf("stored %v, read %v", value, stored)
	}
	if got := api.Unmodeled(stored); !slices.Equal(got, []string{"dst_port 8472"}) {
		t.Errorf("what the model lacks: %q", got)
	}
	if !api.IsDefaulted(stored, "mtu") || !api.IsDefaulted(stored, "phys_address") || api.IsDefaulted(stored, "dst_port 8472") || api.IsDefaulted(unmodeled, "mtu") {
		t.Errorf("other fields have defaults: %v", stored)
	}
	if got := api.WithoutDefaulted(stored); !proto.Equal(got, unmodeled) || !api.IsDefaulted(stored, "mtu") {
		t.Errorf("without the notes of defaults: %v", got)
	}
	rest := api.WithoutUnmodeled(stored)
	if len(api.Unmodeled(rest)) > 0 || !api.IsDefaulted(rest, "mtu") {
		t.Errorf("without what the model lacks: %v", rest)
	}
	if plain := structpb.NewStringValue("x"); api.WithoutDefaulted(plain) != plain || api.IsDefaulted(nil, "mtu") {
		t.Error("a value without notes has some")
	}
}
