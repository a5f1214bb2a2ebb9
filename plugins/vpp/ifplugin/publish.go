package ifplugin

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Counters knows what VPP counts.
type Counters interface {
	// InterfaceStatistics returns the counters of interfaces by the name of the
	// configuration, as they were no longer ago than maxAge. It is called when
	// all plugins are initialised.
	InterfaceStatistics(maxAge time.Duration) (map[string]*interfaces.InterfaceState_Statistics, error)
}

// startPublishing publishes the states of interfaces, with their counters, to the stores of the
// configuration.
func (p *Plugin) startPublishing() error {
	prefix := model.StateKey.Prefix()
	if p.Label != nil {
		prefix = p.Label.GetAgentPrefix() + prefix
	}
	stores, err := publish.Choose("status-publishers", p.cfg.StatusPublishers, p.Stores, p.Log)
	if err != nil || len(stores) == 0 {
		return err
	}
	states := publish.NewStates(&p.PluginDeps, stores, prefix, "the state of interfaces", withCounts)
	p.Go(func(ctx context.Context) {
		defer p.states.Watch(func(n *interfaces.InterfaceNotification) {
			state := n.GetState()
			if state.GetOperStatus() == interfaces.InterfaceState_DELETED {
				states.Remove(state.GetName())
				return
			}
			states.Set(state.GetName(), state)
		})()
		interval := p.cfg.StatisticsInterval
		if p.Counters == nil || interval == 0 {
			<-ctx.Done()
			return
		}
		states.Count(ctx, interval, func() (map[string]*interfaces.InterfaceState_Statistics, error) {
			return p.Counters.InterfaceStatistics(interval / 2)
		})
	})
	return nil
}

func withCounts(state *interfaces.InterfaceState, counts *interfaces.InterfaceState_Statistics) *interfaces.InterfaceState {
	state = proto.CloneOf(state)
	state.Statistics = counts
	return state
}
