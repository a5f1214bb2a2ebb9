package kvtest

import (
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/connector"
)

// Agent is an agent with the label "me", as a connector knows it.
type Agent struct{ ID holder.Identity }

// NewAgent returns an agent with an instance, which started at a second of the clock.
func NewAgent(instance string, since int64) Agent {
	return Agent{holder.Identity{Program: "agent-" + instance, Label: "me", PID: 7, Since: time.Unix(since, 0).UTC(), Instance: instance}}
}

// Identity implements connector.Identity.
func (a Agent) Identity() holder.Identity { return a.ID }

// GetAgentPrefix implements connector.AgentPrefix.
func (Agent) GetAgentPrefix() string { return "/vnf-agent/me/" }

// Use makes the agent the one of a connector.
func (a Agent) Use(d *connector.Deps) { d.Label, d.Identity = a, a }

// Claims checks that a connector uses the keys of a label for one agent at a time. connect returns a
// running connector of an agent.
func Claims(t *testing.T, connect func(Agent) (c kv.Connector, tree *health.Tree, stop func())) {
	t.Helper()
	const key = "/vnf-agent/me/check/x"
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first, tree, stopFirst := connect(NewAgent("a", 1))
	Record(t, first, "/vnf-agent/me/config/").Await(1, "")
	AwaitHealth(t, tree, health.OK, "")
	ok(first.Put(key, wrapperspb.String("of a")))

	// The second agent with the label reads and writes nothing.
	second, tree2, _ := connect(NewAgent("b", 2))
	config := Record(t, second, "/vnf-agent/me/config/")
	AwaitHealth(t, tree2, health.Degraded, `label "me" is held by agent-a pid 7 since 1970-01-01T00:00:01Z`)
	if err := second.Put(key, wrapperspb.String("of b")); err == nil {
		t.Error("the second agent publishes")
	}
	if _, err := second.Delete("/vnf-agent/me/check/", kv.WithPrefix()); err == nil {
		t.Error("the second agent removes what the first one published")
	}
	if item, err := first.DB().Get(t.Context(), key); err != nil || string(item.Value) != `"of a"` {
		t.Errorf("published: %s, %v", item.Value, err)
	}
	ok(first.DB().Put(t.Context(), "/vnf-agent/me/config/k", []byte(`"1"`)))
	config.Await(0, "")

	// Without the first one it is the one.
	stopFirst()
	config.Await(1, "k=\"1\"")
	AwaitHealth(t, tree2, health.OK, "")
	ok(second.Put(key, wrapperspb.String("of b")))

	// The same agent after a restart that left the key behind.
	third, tree3, _ := connect(NewAgent("b", 3))
	Record(t, third, "/vnf-agent/me/config/").Await(1, "k=\"1\"")
	AwaitHealth(t, tree3, health.OK, "")
	AwaitHealth(t, tree2, health.Degraded, "held by agent-b pid 7 since 1970-01-01T00:00:03Z")
}

// ClaimsRace checks that one of several agents that start together gets the label.
func ClaimsRace(t *testing.T, db kv.DB) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	winners := 0
	for i := range 16 {
		wg.Go(func() {
			present, err := db.(kv.Claimer).Claim(t.Context(), "/claim", nil, []byte{byte('a' + i)}, time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if present == nil {
				winners++
			}
		})
	}
	wg.Wait()
	if winners != 1 {
		t.Errorf("%d of 16 agents have the label", winners)
	}
}
