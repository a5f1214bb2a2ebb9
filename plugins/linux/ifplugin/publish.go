package ifplugin

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// publishStates publishes the states of interfaces, with their counters, to the stores of the
// configuration.
func (p *Plugin) publishStates() error {
	stores, err := publish.Choose("status-publishers", p.cfg.StatusPublishers, p.Stores, p.Log)
	if err != nil || len(stores) == 0 {
		return err
	}
	prefix := p.ServiceLabel.GetAgentPrefix() + ifmodel.PublishedStateKey.Prefix()
	states := publish.NewStates(&p.PluginDeps, stores, prefix, "the state of interfaces", withCounts)
	p.Go(func(ctx context.Context) {
		defer p.states.Watch(func(n *interfaces.InterfaceNotification) {
			state := n.GetState()
			if state.GetOperStatus() == interfaces.InterfaceState_DELETED {
				states.Remove(state.GetName())
				return
			}
			if p.cfg.StatisticsInterval == 0 {
				state = withoutCounts(state)
			}
			states.Set(state.GetName(), state)
		})()
		if p.cfg.StatisticsInterval == 0 {
			<-ctx.Done()
			return
		}
		states.Count(ctx, p.cfg.StatisticsInterval, func() (map[string]InterfaceCounters, error) { return p.countersByName(ctx) })
	})
	return nil
}

// countersByName reads the counters of all interfaces.
func (p *Plugin) countersByName(ctx context.Context) (map[string]InterfaceCounters, error) {
	all, err := p.Counters(ctx)
	if err != nil {
		p.Log.Warn("counters of interfaces were not read; their states are published without", "error", err)
		return nil, err
	}
	counts := make(map[string]InterfaceCounters, len(all))
	for _, c := range all {
		counts[c.Name] = c
	}
	return counts, nil
}

func withCounts(state *interfaces.InterfaceState, c InterfaceCounters) *interfaces.InterfaceState {
	state = proto.CloneOf(state)
	state.Statistics = statistics(c.counters())
	return state
}

// withoutCounts returns a state without its counters, which are not published then.
func withoutCounts(state *interfaces.InterfaceState) *interfaces.InterfaceState {
	state = proto.CloneOf(state)
	state.Statistics = nil
	return state
}
