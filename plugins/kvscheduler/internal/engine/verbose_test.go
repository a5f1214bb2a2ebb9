package engine_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/logging/logtest"
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
	log := &logtest.Buffer{}
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
