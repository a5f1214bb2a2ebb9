package kvscheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// A southbound of two kinds of things: shelves, and books that need a shelf.
// The scheduler finds the order.
func ExampleNew() {
	describe := func(kind string, needs ...api.Dependency) *api.KVDescriptor {
		return api.Adapt(&api.Descriptor[*wrapperspb.StringValue, any]{
			Name:        kind,
			NBKeyPrefix: kind + "/",
			KeySelector: func(key string) bool { return strings.HasPrefix(key, kind+"/") },
			Dependencies: func(string, *wrapperspb.StringValue) []api.Dependency {
				return needs
			},
			Create: func(key string, v *wrapperspb.StringValue) (any, error) {
				fmt.Println("create", key, v.GetValue())
				return nil, nil
			},
			Delete: func(key string, _ *wrapperspb.StringValue, _ any) error {
				fmt.Println("delete", key)
				return nil
			},
		})
	}
	ctx := context.Background()
	scheduler, stop, err := kvscheduler.New(ctx, []*api.KVDescriptor{
		describe("book", api.DependsOnAny("shelf/")),
		describe("shelf"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()

	commit := func(txn api.Txn) {
		if _, err := txn.Commit(ctx); err != nil {
			fmt.Println(err)
		}
	}
	commit(scheduler.StartNBTransaction().SetValue("book/1", wrapperspb.String("Emma")))
	fmt.Println("book/1 is", scheduler.GetValueStatus("book/1").Value.State)
	commit(scheduler.StartNBTransaction().SetValue("shelf/a", wrapperspb.String("oak")))
	fmt.Println("book/1 is", scheduler.GetValueStatus("book/1").Value.State)
	commit(scheduler.StartNBTransaction().SetValue("shelf/a", nil))

	// Output:
	// book/1 is PENDING
	// create shelf/a oak
	// create book/1 Emma
	// book/1 is CONFIGURED
	// delete book/1
	// delete shelf/a
}

func TestNewReportsWiring(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	twice := []*api.KVDescriptor{sb.Descriptor("item", "a/"), sb.Descriptor("item", "b/")}
	if _, _, err := kvscheduler.New(t.Context(), twice); !errors.Is(err, api.ErrDescriptorExists) {
		t.Errorf("a name given twice: %v", err)
	}
	after := []*api.KVDescriptor{sb.Descriptor("item", "a/", kvstest.After("missing"))}
	if _, _, err := kvscheduler.New(t.Context(), after); err == nil || !strings.Contains(err.Error(), `"missing", which is not registered`) {
		t.Errorf("a descriptor that is not there: %v", err)
	}
	if _, _, err := kvscheduler.New(t.Context(), nil, kvscheduler.UseConf(kvscheduler.Config{})); err == nil {
		t.Error("an invalid configuration is accepted")
	}
}

func TestNewPrintsOnRequestAndStops(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sb := kvstest.NewMockSB()
	s, stop, err := kvscheduler.New(t.Context(), []*api.KVDescriptor{sb.Descriptor("item", "item/")}, kvscheduler.UseOutput(&out))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.StartNBTransaction().SetValue("item/a", &model.Item{Value: 1}).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	stop()
	if !strings.Contains(out.String(), "item/a") {
		t.Errorf("printed: %s", &out)
	}
	_, err = s.StartNBTransaction().SetValue("item/b", &model.Item{}).Commit(t.Context())
	if !errors.Is(err, api.ErrClosedScheduler) || sb.String() != "item/a { value:1 }\n" {
		t.Errorf("after stop: %v, southbound %s", err, sb)
	}
}
