package bfdplugin

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	bfdapi "go.fd.io/govpp/binapi/bfd"

	"github.com/tenuto-dev/tenuto/plugins/vpp/bfdplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// stateNames are the states of sessions as keys have them.
var stateNames = map[bfdapi.BfdState]string{
	bfdapi.BFD_STATE_API_ADMIN_DOWN: model.AdminDown,
	bfdapi.BFD_STATE_API_DOWN:       model.Down,
	bfdapi.BFD_STATE_API_INIT:       model.Init,
	bfdapi.BFD_STATE_API_UP:         model.Up,
}

// Session is a session with a peer on an interface of the configuration.
type Session struct {
	Interface string
	Peer      netip.Addr
}

// NewStates returns the states of sessions. Other values wait for a session by depending on the
// key of its state UP.
func NewStates(vpp *session.VPP, ifs item.Interfaces) *item.States[Session] {
	return &item.States[Session]{
		Name: StateName, Template: model.StateKey, All: slices.Sorted(maps.Values(stateNames)),
		Key:   func(s Session, state string) string { return model.StateKeyFor(s.Interface, s.Peer, state) },
		Read:  func(ctx context.Context) (map[Session]string, error) { return readStates(ctx, vpp, ifs) },
		After: []string{item.InterfaceName},
	}
}

func readStates(ctx context.Context, vpp *session.VPP, ifs item.Interfaces) (map[Session]string, error) {
	all, err := session.DumpOf[*bfdapi.BfdUDPSessionDetails](ctx, vpp, sessions, &bfdapi.BfdUDPSessionDump{})
	if err != nil {
		return nil, err
	}
	states, snapshot := make(map[Session]string, len(all)), ifs.Snapshot(ctx)
	for _, d := range all {
		if name, ok := snapshot.Name(uint32(d.SwIfIndex)); ok {
			states[Session{name, ipconv.FromAddress(d.PeerAddr)}] = stateNames[d.State]
		}
	}
	return states, snapshot.Err()
}
