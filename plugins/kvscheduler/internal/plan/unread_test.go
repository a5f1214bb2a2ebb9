package plan_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// An unreadable descriptor may have keys with a prefix unless another descriptor is
// known to handle them.
func TestUnreadByPrefix(t *testing.T) {
	t.Parallel()
	describe := func(name, nbPrefix string, selector func(string) bool) *api.KVDescriptor {
		return &api.KVDescriptor{
			Name: name, NBKeyPrefix: nbPrefix, KeySelector: selector,
			Create:   func(string, proto.Message) (api.Metadata, error) { return nil, nil },
			Delete:   func(string, proto.Message, api.Metadata) error { return nil },
			Retrieve: func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) { return nil, nil },
		}
	}
	numbered := func(key string) bool {
		number, ok := strings.CutPrefix(key, "loop/eth")
		return ok && number != "" && strings.Trim(number, "0123456789") == ""
	}
	reg, err := registry.New(nil).With([]*api.KVDescriptor{
		describe("tap", "tap/", func(key string) bool { return strings.HasPrefix(key, "tap/") }),
		describe("route", "", func(key string) bool { return strings.HasPrefix(key, "route/") }),
		describe("loop", "", numbered),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		prefix string
		unread string // names of those who may have such a key
	}{
		{"tap/", "tap"}, {"tap/1", "tap"}, {"ta", "tap route loop"},
		{"route/", "route"}, {"route/1", "route loop"}, {"rou", "route loop"},
		{"loop/", "route loop"}, {"loop/e", "route loop"}, {"loop/eth", "route loop"}, {"loop/eth1", "route loop"},
		{"", "tap route loop"},
	} {
		for _, name := range []string{"tap", "route", "loop"} {
			u := &plan.Unread{Registry: reg, Descriptors: map[*registry.Descriptor]bool{reg.ByName(name): true}}
			dep := &api.Dependency{AnyOf: api.AnyOfDependency{KeyPrefixes: []string{c.prefix}}}
			if got, want := u.Meets(dep), strings.Contains(c.unread, name); got != want {
				t.Errorf("prefix %q, %s was not read: %v, expected %v", c.prefix, name, got, want)
			}
		}
	}
}
