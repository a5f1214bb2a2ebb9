// Package ikev2plugin is the plugin for IKEv2 of VPP, which exchanges the keys of IPsec tunnels.
package ikev2plugin

import (
	"context"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-ikev2plugin"

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{globals, profiles},
		Register: func(to *itemplugin.Registrar) error {
			states := NewStates(to.VPP)
			err := to.Add(NewGlobal(to.VPP), NewProfile(to.VPP, to.Interfaces), states.Descriptor())
			to.Follow(func(ctx context.Context) error { return follow(ctx, to, states) })
			return err
		},
	}, opts)
}

// pause is the time between two looks at the security associations of VPP, which sends no events.
const pause = 3 * time.Second

// follow notifies the scheduler of the states of profiles, and of profiles that should initiate and
// are no longer active in VPP. The scheduler reads such a profile and repairs it, after growing
// pauses.
func follow(ctx context.Context, to *itemplugin.Registrar, states *item.States[string]) error {
	if err := to.Scheduler.WaitForTransactions(ctx); err != nil { // the values are synchronized then
		return err
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := states.Report(ctx, to.Scheduler, first); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		ended, err := Ended(ctx, to.VPP)
		if err == nil && len(ended) > 0 {
			err = to.Scheduler.ReportLost(ended...)
		}
		if err != nil {
			return err
		}
	}
}
