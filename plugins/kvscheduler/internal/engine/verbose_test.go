package engine_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// TestVerboseResync: a verbose resync logs the values that it retrieves, others do not.
func TestVerboseResync(t *testing.T) {
	t.Parallel()
	d := api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/",
		Create: func(string, *model.Item) (any, error) { return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
		Retrieve: func([]api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
			return []api.KV[*model.Item, any]{{Key: "a/1", Value: &model.Item{Note: "found"}}}, nil
		},
	})
	log := &infratest.Buffer{}
	logger := logging.NewRegistry(logging.WithWriter(log)).PluginLogger("kvscheduler")
	inBubbleWith(t, engine.Options{Log: logger}, []*api.KVDescriptor{d}, func(t *testing.T, c *engine.Engine) {
		for _, verbose := range []bool{false, true} {
			if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, verbose)); err != nil {
				t.Fatal(err)
			}
			text := log.String()
			if got := strings.Contains(text, `"key": "a/1"`) && strings.Contains(text, "found"); got != verbose {
				t.Errorf("verbose %v: the retrieved value is logged: %v\n%s", verbose, got, text)
			}
		}
	})
}

// TestDescriptorWithoutRetrieve: the log says once which descriptors of configuration items are not
// read back.
func TestDescriptorWithoutRetrieve(t *testing.T) {
	t.Parallel()
	describe := func(name, prefix string) api.Descriptor[*model.Item, any] {
		return api.Descriptor[*model.Item, any]{
			Name: name, KeySelector: hasPrefix(name + "/"), NBKeyPrefix: prefix,
			Create: func(string, *model.Item) (any, error) { return nil, nil },
			Delete: func(string, *model.Item, any) error { return nil },
		}
	}
	blind, derived, read := describe("blind", "blind/"), describe("derived", ""), describe("read", "read/")
	property := api.Descriptor[*model.Item, any]{Name: "property", KeySelector: hasPrefix("property/"), NBKeyPrefix: "property/"}
	read.Retrieve = func([]api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) { return nil, nil }
	log := &infratest.Buffer{}
	logger := logging.NewRegistry(logging.WithWriter(log)).PluginLogger("kvscheduler")
	all := []*api.KVDescriptor{api.Adapt(&blind), api.Adapt(&derived), api.Adapt(&read), api.Adapt(&property)}
	inBubbleWith(t, engine.Options{Log: logger}, all, func(t *testing.T, c *engine.Engine) {
		if err := c.RegisterKVDescriptor(all[0]); err == nil {
			t.Error("a descriptor was registered twice")
		}
		if text := log.String(); strings.Count(text, "has no Retrieve") != 1 || !strings.Contains(text, `INFO kvscheduler descriptor has no Retrieve: `) ||
			!strings.Contains(text, `what another program changed {"descriptor": "blind"}`) {
			t.Errorf("the log has\n%s", text)
		}
	})
}
