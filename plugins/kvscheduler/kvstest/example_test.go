package kvstest_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// house is a southbound: brightness in percent by the name of the lamp.
type house map[string]int32

// lamps describes the lamps of a house.
func lamps(h house) *api.KVDescriptor {
	const prefix = "lamp/"
	name := func(key string) string { return strings.TrimPrefix(key, prefix) }
	return api.Adapt(&api.Descriptor[*wrapperspb.Int32Value, any]{
		Name:        "lamp",
		NBKeyPrefix: prefix,
		KeySelector: func(key string) bool { return strings.HasPrefix(key, prefix) },
		KeyLabel:    name,
		Validate: func(_ string, v *wrapperspb.Int32Value) error {
			if v.GetValue() > 100 {
				return api.NewInvalidValueError(fmt.Errorf("brightness is %d%%: expected at most 100", v.GetValue()), "value")
			}
			return nil
		},
		Create: func(key string, v *wrapperspb.Int32Value) (any, error) {
			h[name(key)] = v.GetValue()
			return nil, nil
		},
		Update: func(key string, _, v *wrapperspb.Int32Value, _ any) (any, error) {
			h[name(key)] = v.GetValue()
			return nil, nil
		},
		Delete: func(key string, _ *wrapperspb.Int32Value, _ any) error {
			delete(h, name(key)) // a success as well if it is gone already
			return nil
		},
		Retrieve: func([]api.KV[*wrapperspb.Int32Value, any]) (found []api.KV[*wrapperspb.Int32Value, any], err error) {
			for name, brightness := range maps.All(h) {
				found = append(found, api.KV[*wrapperspb.Int32Value, any]{Key: prefix + name, Value: wrapperspb.Int32(brightness)})
			}
			return found, nil
		},
	})
}

// The whole test of a descriptor.
func TestLamps(t *testing.T) {
	samples := []kvstest.Sample{
		{Key: "lamp/kitchen", Value: wrapperspb.Int32(30)},
		{Key: "lamp/kitchen", Value: wrapperspb.Int32(80)}, // what it changes to
		{Key: "lamp/hall", Value: wrapperspb.Int32(0)},
	}
	d := lamps(house{})
	kvstest.CheckSamples(t, samples, d)
	kvstest.Conform(t, d, samples)
}

// A reply that is lost: the lamp is on, but the caller does not know. Asked again, the
// scheduler looks what there is and has nothing left to do.
func ExampleFaulty() {
	h := house{}
	var faults kvstest.Faults
	ctx := context.Background()
	scheduler, stop, err := kvscheduler.New(ctx, []*api.KVDescriptor{kvstest.Faulty(lamps(h), &faults)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	faults.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: "lamp/*", Times: 1, After: true})
	for range 2 {
		_, err = scheduler.StartNBTransaction().SetValue("lamp/hall", wrapperspb.Int32(50)).Commit(ctx)
		fmt.Println("error:", err)
		fmt.Println("house:", h, "state:", scheduler.GetValueStatus("lamp/hall").Value.State)
	}
	fmt.Println("calls:", strings.Join(faults.TakeCalls(), ", "))

	// Output:
	// error: create lamp/hall: injected failure of create lamp/hall
	// house: map[hall:50] state: FAILED
	// error: <nil>
	// house: map[hall:50] state: CONFIGURED
	// calls: create lamp/hall, retrieve lamp
}

// A southbound in memory with two kinds of items. One needs the other.
func ExampleMockSB() {
	sb := kvstest.NewMockSB()
	sb.RequireDependencies(func(string) bool { return false })
	ctx := context.Background()
	scheduler, stop, err := kvscheduler.New(ctx, []*api.KVDescriptor{sb.Descriptor("port", "port/"), sb.Descriptor("bridge", "bridge/")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	_, err = scheduler.StartNBTransaction().
		SetValue("bridge/1", &model.Item{Value: 1, Deps: []string{"port/7"}}).
		SetValue("port/7", &model.Item{Value: 7}).
		Commit(ctx)
	fmt.Println("error:", err)
	fmt.Println(strings.Join(sb.TakeCalls(), ", "))

	// Output:
	// error: <nil>
	// create port/7, create bridge/1
}
