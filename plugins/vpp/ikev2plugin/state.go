package ikev2plugin

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// stateNames are the states of profiles as keys have them.
var stateNames = map[progress]string{none: model.Down, begun: model.Connecting, agreed: model.Established}

// NewStates returns the states of profiles, by name.
func NewStates(vpp *session.VPP) *item.States[string] {
	return &item.States[string]{
		Name: StateName, Template: model.StateKey, All: []string{model.Down, model.Connecting, model.Established},
		Key:  func(profile, state string) string { return model.StateKey.Key(profile, state) },
		Read: func(ctx context.Context) (map[string]string, error) { return readStates(ctx, vpp) },
	}
}

// readStates reads no SAs while there is no profile.
func readStates(ctx context.Context, vpp *session.VPP) (map[string]string, error) {
	all, err := item.Listed(ctx, vpp, profiles)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	established, err := (&profileCalls{vpp: vpp}).established(ctx)
	if err != nil {
		return nil, item.IgnoreUnsupported(err)
	}
	states := make(map[string]string, len(all))
	for _, p := range all {
		states[p.name] = stateNames[established(p.local, p.remote)]
	}
	return states, nil
}
