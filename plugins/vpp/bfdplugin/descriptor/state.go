package descriptor

import (
	"context"
	"net/netip"

	bfdapi "go.fd.io/govpp/binapi/bfd"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
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

type stateKV = kvs.KV[*emptypb.Empty, kvs.Metadata]

// NewState describes the states of sessions, which come from VPP. Other values wait for a
// session by depending on the key of its state UP.
func NewState(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:        StateName,
		Southbound:  item.Southbound,
		KeySelector: model.StateKey.Matches,
		RetrieveContext: func(ctx context.Context, _ []stateKV) (out []stateKV, err error) {
			states, err := ReadStates(ctx, vpp, ifs)
			for s, state := range states {
				out = append(out, stateKV{Key: model.StateKeyFor(s.Interface, s.Peer, state), Value: &emptypb.Empty{}, Origin: kvs.FromSB})
			}
			return out, err
		},
		RetrieveDependencies: []string{item.InterfaceName},
	})
}

// ReadStates returns the states of all sessions.
func ReadStates(ctx context.Context, vpp *session.VPP, ifs item.Interfaces) (map[Session]string, error) {
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

// StateChange returns the notifications that a session has a state; "" means that it does not
// exist any more.
func StateChange(s Session, state string) []kvs.KVWithMetadata {
	var changes []kvs.KVWithMetadata
	for _, name := range stateNames {
		if name != state {
			changes = append(changes, kvs.KVWithMetadata{Key: model.StateKeyFor(s.Interface, s.Peer, name), Origin: kvs.FromSB})
		}
	}
	if state != "" {
		changes = append(changes, kvs.KVWithMetadata{
			Key: model.StateKeyFor(s.Interface, s.Peer, state), Value: &emptypb.Empty{}, Origin: kvs.FromSB,
		})
	}
	return changes
}
