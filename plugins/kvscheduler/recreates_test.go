package kvscheduler_test

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// An update that changes what a dependent was created with recreates the dependent around the
// update, with all of its own dependents. Another update does not.
func TestUpdateRecreatesDependent(t *testing.T) {
	t.Parallel()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}))
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	port := sb.Descriptor("port", "port/")
	dependencies := port.Dependencies
	port.Dependencies = func(key string, value proto.Message) []api.Dependency {
		deps := dependencies(key, value)
		for i := range deps {
			deps[i].Recreates = func(before, after proto.Message) bool {
				return before.(*model.Item).Value/10 != after.(*model.Item).Value/10
			}
		}
		return deps
	}
	if err := s.RegisterKVDescriptor(sb.Descriptor("link", "link/"), port, sb.Descriptor("bridge", "bridge/")); err != nil {
		t.Fatal(err)
	}
	apply := func(when string, values map[string]*model.Item, want ...string) {
		t.Helper()
		sb.TakeCalls()
		if err := commit(t, s, values); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got := sb.TakeCalls(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, expected %q", when, got, want)
		}
	}
	for _, with := range []*model.Item{{Deps: []string{"link/1"}}, {CreatedWith: []string{"link/1"}}} {
		apply("create", map[string]*model.Item{"link/1": {Value: 1}, "port/1": with, "bridge/1": {Deps: []string{"port/1"}}},
			"create link/1", "create port/1", "create bridge/1")
		apply("another update", map[string]*model.Item{"link/1": {Value: 2}}, "update link/1")
		apply("update", map[string]*model.Item{"link/1": {Value: 11}},
			"delete bridge/1", "delete port/1", "update link/1", "create port/1", "create bridge/1")
		apply("update of both", map[string]*model.Item{"link/1": {Value: 21}, "port/1": {Value: 3, Deps: with.Deps, CreatedWith: with.CreatedWith}},
			"delete bridge/1", "delete port/1", "update link/1", "create port/1", "create bridge/1")
		apply("delete", map[string]*model.Item{"link/1": nil, "port/1": nil, "bridge/1": nil},
			"delete bridge/1", "delete port/1", "delete link/1")
	}
}
