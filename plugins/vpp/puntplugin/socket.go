package puntplugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/punt"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	puntproto "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// Programs get packets on Unix sockets, from the one socket that VPP has for that, and send
// packets to it. VPP has it if its configuration says so; the programs register nothing
// themselves, so a registration may belong to another client of VPP.

var (
	sockets = session.Require("punt to host", "",
		&punt.PuntSocketRegister{}, &punt.PuntSocketRegisterReply{}, &punt.PuntSocketDeregister{}, &punt.PuntSocketDeregisterReply{},
		&punt.PuntSocketDump{}, &punt.PuntSocketDetails{})
	// Exceptions need sockets, too.
	exceptions = session.Require("punt exception", "", &punt.PuntReasonDump{}, &punt.PuntReasonDetails{})
)

const (
	// headerVersion is the version of the header before packets on the sockets.
	headerVersion = 1
	// maxPath is the length of the longest path of a socket.
	maxPath = 107
	// maxPort is the last port; VPP takes the one above for "no port".
	maxPort = 65534
)

// Socket is the metadata of a registration: the path of VPP's own socket, which packets come
// from. VPP reports it in the reply to the registration alone, so it is empty after a restart
// of the agent.
type Socket struct {
	Path string
}

// host is the registration of a UDP port.
type host struct {
	family family
	port   uint16
	path   string
}

// NewToHost describes sockets for packets to a UDP port. VPP has one per version of IP and port.
func NewToHost(vpp *session.VPP) *kvs.KVDescriptor {
	l4 := func(e host) punt.Punt {
		return punt.Punt{Type: punt.PUNT_API_TYPE_L4, Punt: punt.PuntUnionL4(punt.PuntL4{
			Af: e.family, Protocol: ip_types.IP_API_PROTO_UDP, Port: e.port,
		})}
	}
	return item.NewSet(vpp, nil, item.Set[*puntproto.ToHost, host, host]{
		Name: ToHostName, Model: ToHostModel, Fields: "l3_protocol, port",
		Resolve: resolveHost,
		ID:      func(e host) host { return host{family: e.family, port: e.port} },
		Value: func(_ *item.Names, wanted, found []host) *puntproto.ToHost {
			v := &puntproto.ToHost{
				L3Protocol: protocol(found[0].family), L4Protocol: puntproto.L4Protocol_UDP, Port: uint32(found[0].port),
			}
			if len(wanted) > 1 {
				v.L3Protocol = puntproto.L3Protocol_ALL
			}
			if len(found) >= len(wanted) && found[0].path == found[len(found)-1].path {
				v.SocketPath = found[0].path
			}
			return v
		},
		Table: item.Table[host]{
			Add: func(ctx context.Context, e host) (kvs.Metadata, error) {
				return register(ctx, vpp, l4(e), e.path)
			},
			Remove: func(ctx context.Context, e host) error { return deregister(ctx, vpp, l4(e)) },
			All: func(ctx context.Context) (all []host, err error) {
				found, err := session.DumpOf[*punt.PuntSocketDetails](ctx, vpp, sockets, &punt.PuntSocketDump{Type: punt.PUNT_API_TYPE_L4})
				for _, d := range found {
					if p := d.Punt.Punt.GetL4(); p.Protocol == ip_types.IP_API_PROTO_UDP {
						all = append(all, host{p.Af, p.Port, d.Pathname})
					}
				}
				return all, err
			},
		},
	})
}

func resolveHost(r *item.Resolver, v *puntproto.ToHost) (all []host) {
	if v.GetL4Protocol() != puntproto.L4Protocol_UDP {
		r.Fail("l4_protocol", "%s, expected UDP: VPP has sockets for nothing else", v.GetL4Protocol())
	}
	port, path := uint16(r.Range("port", v.GetPort(), 1, maxPort)), socketPath(r, v.GetSocketPath())
	for _, f := range families(r, v.GetL3Protocol()) {
		all = append(all, host{f, port, path})
	}
	return all
}

func socketPath(r *item.Resolver, path string) string {
	if len(path) > maxPath {
		r.Fail("socket_path", "%d bytes, expected at most %d", len(path), maxPath)
	}
	return path
}

func register(ctx context.Context, vpp *session.VPP, p punt.Punt, path string) (kvs.Metadata, error) {
	if err := sockets.Check(vpp); err != nil {
		return nil, err
	}
	reply := &punt.PuntSocketRegisterReply{}
	err := vpp.Call(ctx, &punt.PuntSocketRegister{HeaderVersion: headerVersion, Punt: p, Pathname: path}, reply)
	if errors.Is(err, api.UNSPECIFIED) {
		return nil, fmt.Errorf("socket_path: %q: VPP has no socket of its own, or this is it; "+
			"set punt { socket <path> } in the startup configuration of VPP: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	return &Socket{Path: reply.Pathname}, nil
}

func deregister(ctx context.Context, vpp *session.VPP, p punt.Punt) error {
	return vpp.Call(ctx, &punt.PuntSocketDeregister{Punt: p}, &punt.PuntSocketDeregisterReply{})
}

// exception is the registration of a reason.
type exception struct{ reason, path string }

// NewException describes sockets for packets with a problem. VPP has one per problem, which it
// calls reason.
func NewException(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSet(vpp, nil, item.Set[*puntproto.Exception, exception, exception]{
		Name: ExceptionName, Model: ExceptionModel, Fields: "reason",
		Resolve: func(r *item.Resolver, v *puntproto.Exception) []exception {
			return []exception{{v.GetReason(), socketPath(r, v.GetSocketPath())}}
		},
		ID: func(e exception) exception { return exception{reason: e.reason} },
		Value: func(_ *item.Names, _, found []exception) *puntproto.Exception {
			return &puntproto.Exception{Reason: found[0].reason, SocketPath: found[0].path}
		},
		Table: item.Table[exception]{
			Add: func(ctx context.Context, e exception) (kvs.Metadata, error) {
				p, err := reason(ctx, vpp, e.reason)
				if err != nil {
					return nil, err
				}
				return register(ctx, vpp, p, e.path)
			},
			Remove: func(ctx context.Context, e exception) error {
				p, err := reason(ctx, vpp, e.reason)
				if err != nil {
					return err
				}
				return deregister(ctx, vpp, p)
			},
			All: func(ctx context.Context) ([]exception, error) { return dumpExceptions(ctx, vpp) },
		},
	})
}

// reason returns what VPP calls a reason. VPP does not answer a registration for a reason that
// it does not have.
func reason(ctx context.Context, vpp *session.VPP, name string) (punt.Punt, error) {
	if err := exceptions.Check(vpp); err != nil {
		return punt.Punt{}, err
	}
	names, err := reasons(ctx, vpp)
	if err != nil {
		return punt.Punt{}, err
	}
	for id, known := range names {
		if known == name {
			return punt.Punt{Type: punt.PUNT_API_TYPE_EXCEPTION, Punt: punt.PuntUnionException(punt.PuntException{ID: id})}, nil
		}
	}
	return punt.Punt{}, fmt.Errorf("reason: %q: VPP has no reason of this name; it has %s", name,
		strings.Join(slices.Sorted(maps.Values(names)), ", "))
}

// reasons returns the names of the reasons that VPP has, by their numbers.
func reasons(ctx context.Context, vpp *session.VPP) (map[uint32]string, error) {
	found, err := session.DumpOf[*punt.PuntReasonDetails](ctx, vpp, exceptions, &punt.PuntReasonDump{})
	names := make(map[uint32]string, len(found))
	for _, d := range found {
		if d.Reason.Name != "" {
			names[d.Reason.ID] = d.Reason.Name
		}
	}
	return names, err
}

func dumpExceptions(ctx context.Context, vpp *session.VPP) (all []exception, err error) {
	found, err := session.DumpOf[*punt.PuntSocketDetails](ctx, vpp, sockets, &punt.PuntSocketDump{Type: punt.PUNT_API_TYPE_EXCEPTION})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	names, err := reasons(ctx, vpp)
	for _, d := range found {
		if name := names[d.Punt.Punt.GetException().ID]; name != "" {
			all = append(all, exception{name, d.Pathname})
		}
	}
	return all, err
}
