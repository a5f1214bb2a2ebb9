package ifplugin

import (
	"context"
	"sync"
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

// publisher writes the states of interfaces, with their counters, to stores.
type publisher struct {
	prefix     string
	publishers []*publish.Publisher

	mu     sync.Mutex
	states map[string]*interfaces.InterfaceState            // those that exist
	counts map[string]*interfaces.InterfaceState_Statistics // as read last
}

// startPublishing publishes the states of interfaces to the stores of the
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
	pub := &publisher{prefix: prefix, states: map[string]*interfaces.InterfaceState{}}
	for _, s := range stores {
		to := publish.New(publish.Options{
			Store: s, Prefix: prefix, What: "the state of interfaces", Log: p.Log, Health: p.Health.Scope("publish to " + s.String()),
		})
		pub.publishers = append(pub.publishers, to)
		p.Go(to.Run)
	}
	p.Go(func(ctx context.Context) {
		defer p.states.Watch(pub.note)()
		if p.Counters == nil || p.cfg.StatisticsInterval == 0 {
			<-ctx.Done()
			return
		}
		pub.count(ctx, p.cfg.StatisticsInterval, p.Counters)
	})
	return nil
}

// note takes in a state.
func (p *publisher) note(n *interfaces.InterfaceNotification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := n.GetState()
	name := state.GetName()
	if state.GetOperStatus() == interfaces.InterfaceState_DELETED {
		delete(p.states, name)
		p.set(name, nil)
		return
	}
	p.states[name] = state
	p.set(name, withCounts(state, p.counts[name]))
}

// count takes in the counters again and again. While they can not be read, what
// was read last is left out: it may be of another VPP.
func (p *publisher) count(ctx context.Context, interval time.Duration, counters Counters) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		counts, err := counters.InterfaceStatistics(interval / 2)
		if err != nil {
			counts = nil // the reader reports why
		}
		p.mu.Lock()
		p.counts = counts
		for name, state := range p.states {
			p.set(name, withCounts(state, counts[name]))
		}
		p.mu.Unlock()
	}
}

func (p *publisher) set(name string, state proto.Message) {
	for _, to := range p.publishers {
		to.Set(p.prefix+name, state)
	}
}

func withCounts(state *interfaces.InterfaceState, counts *interfaces.InterfaceState_Statistics) *interfaces.InterfaceState {
	if counts == nil {
		return state
	}
	state = proto.CloneOf(state)
	state.Statistics = counts
	return state
}
