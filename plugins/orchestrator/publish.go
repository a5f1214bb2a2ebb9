package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// The states of items are published below StatusPrefix, under the item's key
// below ConfigPrefix: the state of config/vpp/v2/interfaces/loop1 is in
// config-status/vpp/v2/interfaces/loop1, as a ligato.kvscheduler.ValueStatus.
const (
	ConfigPrefix = "config/"
	StatusPrefix = "config-status/"
)

// AgentPrefix provides the prefix of this agent's keys in a data store.
type AgentPrefix interface {
	GetAgentPrefix() string
}

// publishStates publishes the states of items to the configured stores.
func (p *Plugin) publishStates() error {
	stores, err := publish.Choose("status-publishers", p.publishTo(), p.Stores, p.Log)
	if err != nil || len(stores) == 0 {
		return err
	}
	prefix := StatusPrefix
	if p.Label != nil {
		prefix = p.Label.GetAgentPrefix() + prefix
	}
	var publishers []*publish.Publisher
	for _, s := range stores {
		pub := publish.New(publish.Options{
			Store: s, Prefix: prefix, What: "the state of items", Log: p.Log, Health: p.Health.Scope("publish to " + s.String()),
		})
		publishers = append(publishers, pub)
		p.Go(pub.Run)
	}
	p.Go(func(ctx context.Context) { p.followStates(ctx, prefix, publishers) })
	return nil
}

// publishTo returns the names of the stores to publish to.
func (p *Plugin) publishTo() []string {
	names := p.cfg.StatusPublishers
	if v, _ := config.Env("ENABLE_STATUS_PUBLISHING"); v == "" || len(names) > 0 {
		return names
	}
	for _, s := range p.Stores {
		w, optional := s.(interface{ Writable() bool })
		if !s.Disabled() && (!optional || w.Writable()) {
			names = append(names, s.String())
		}
	}
	return names
}

// followStates publishes changes of the states until ctx ends.
func (p *Plugin) followStates(ctx context.Context, prefix string, publishers []*publish.Publisher) {
	watch := p.Scheduler.Watch(api.WatchRequest{Prefix: ConfigPrefix})
	defer watch.Close()
	for {
		ev, err := watch.Next(ctx)
		if err != nil {
			return // the agent stops
		}
		states := make(map[string]proto.Message, len(ev.Values))
		for _, v := range ev.Values {
			key := prefix + strings.TrimPrefix(v.GetValue().GetKey(), ConfigPrefix)
			states[key] = nil
			if s := v.GetValue().GetState(); s != kvspb.ValueState_NONEXISTENT && s != kvspb.ValueState_REMOVED {
				states[key] = PublicState(v)
			}
		}
		for _, pub := range publishers {
			if ev.Kind != api.WatchDelta {
				dropOthers(pub, states)
			}
			for key, state := range states {
				pub.Set(key, state)
			}
		}
	}
}

// dropOthers removes published values that are not among the states.
func dropOthers(pub *publish.Publisher, states map[string]proto.Message) {
	for _, key := range pub.Keys() {
		if _, there := states[key]; !there {
			pub.Set(key, nil)
		}
	}
}

// PublicState returns the state of an item as it is published. Its details include derived values
// that are not configured.
func PublicState(v *api.BaseValueStatus) *kvspb.ValueStatus {
	state := proto.CloneOf(v.GetValue())
	state.WaitsFor = nil // clients of the predecessor reject fields that they do not know
	for _, d := range v.GetDerivedValues() {
		if d.GetState() == kvspb.ValueState_CONFIGURED || d.GetState() == kvspb.ValueState_OBTAINED {
			continue
		}
		text := fmt.Sprintf("%s is %v", d.GetKey(), d.GetState())
		if reason := strings.Join(append(d.GetDetails(), d.GetError()), " "); strings.TrimSpace(reason) != "" {
			text += ": " + strings.TrimSpace(reason)
		}
		state.Details = append(state.Details, text)
	}
	return state
}
