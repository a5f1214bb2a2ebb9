package grpc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/tenuto-dev/tenuto/infra/livefile"
)

const (
	// maxHeader bounds the header of a call, in bytes.
	maxHeader = 64 << 10
	// handshakeTimeout bounds the setup of a connection.
	handshakeTimeout = 10 * time.Second
)

func (p *Plugin) serverOptions(d door) []rpc.ServerOption {
	opts := []rpc.ServerOption{
		rpc.MaxRecvMsgSize(p.cfg.MaxMsgSize),
		rpc.MaxSendMsgSize(p.cfg.MaxMsgSize),
		rpc.MaxConcurrentStreams(p.cfg.MaxConcurrentStreams),
		rpc.MaxHeaderListSize(maxHeader),
		rpc.ConnectionTimeout(handshakeTimeout),
		rpc.KeepaliveParams(keepalive.ServerParameters{Time: p.cfg.KeepaliveTime, Timeout: p.cfg.KeepaliveTimeout}),
		rpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: p.cfg.KeepaliveMinTime, PermitWithoutStream: true}),
		rpc.ChainUnaryInterceptor(p.unary),
		rpc.ChainStreamInterceptor(p.stream),
		rpc.StatsHandler(p.calls),
		rpc.WaitForHandlers(true),
	}
	if d.creds != nil {
		opts = append(opts, rpc.Creds(d.creds))
	}
	if p.guard != nil {
		opts = append(opts, rpc.InTapHandle(p.guard.check))
	}
	return opts
}

// guard lets only those pass who know a token, or a user with the password. It
// looks before the message of a call is read.
type guard struct {
	fixed   []secret
	file    *livefile.Value[[]secret] // nil: there are only those
	now     func() time.Time
	refused func() // is called for each call that is refused
}

// newGuard returns nil if everybody may pass.
func (p *Plugin) newGuard() (*guard, error) {
	file, err := p.liveTokens()
	if err != nil {
		return nil, err
	}
	g := &guard{fixed: p.cfg.secrets(), file: file, now: time.Now, refused: p.calls.refused}
	if len(g.fixed) == 0 && file == nil {
		return nil, nil
	}
	return g, nil
}

// check refuses a call without credentials. Whether the agent is healthy may be
// asked by everybody: probes have no credentials.
func (g *guard) check(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName == grpc_health_v1.Health_Check_FullMethodName {
		return ctx, nil
	}
	given := info.Header.Get("authorization")
	if len(given) != 1 {
		g.refused()
		return nil, status.Error(codes.Unauthenticated, "expected a token in the metadata (authorization: Bearer TOKEN)")
	}
	if known, expired := g.knows(given[0]); expired {
		g.refused()
		return nil, status.Error(codes.Unauthenticated, "the token in the metadata (authorization) has expired")
	} else if !known {
		g.refused()
		return nil, status.Error(codes.Unauthenticated, "the token, or user and password, in the metadata (authorization) is not known")
	}
	return ctx, nil
}

// knows compares in a time that does not depend on what is wrong.
func (g *guard) knows(given string) (known, expired bool) {
	scheme, word, _ := strings.Cut(given, " ")
	for _, s := range []string{"Bearer", "Basic"} { // the name of the scheme has no case (RFC 9110, 11.1)
		if strings.EqualFold(scheme, s) {
			scheme = s
		}
	}
	sum, now := sha256.Sum256([]byte(scheme+" "+word)), g.now()
	lists := [][]secret{g.fixed}
	if g.file != nil {
		lists = append(lists, g.file.Get())
	}
	for _, list := range lists {
		for i := range list {
			if subtle.ConstantTimeCompare(list[i].sum[:], sum[:]) == 0 {
				continue
			}
			if until := list[i].until; until.IsZero() || now.Before(until) {
				known = true
			} else {
				expired = true
			}
		}
	}
	return known, expired && !known
}

// unary is around every call without streams: its context ends with the plugin,
// and its panic is its own.
func (p *Plugin) unary(ctx context.Context, req any, info *rpc.UnaryServerInfo, next rpc.UnaryHandler) (resp any, err error) {
	ctx, cancel := p.within(ctx)
	defer cancel()
	defer p.recovered(info.FullMethod, &err)
	return next(ctx, req)
}

// stream is the same around calls with streams.
func (p *Plugin) stream(srv any, ss rpc.ServerStream, info *rpc.StreamServerInfo, next rpc.StreamHandler) (err error) {
	ctx, cancel := p.within(ss.Context())
	defer cancel()
	defer p.recovered(info.FullMethod, &err)
	return next(srv, boundStream{ss, ctx})
}

// within ends a context when the one of the plugin does.
func (p *Plugin) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

type boundStream struct {
	rpc.ServerStream
	ctx context.Context
}

func (s boundStream) Context() context.Context { return s.ctx }

// recovered makes an error of a panic.
func (p *Plugin) recovered(method string, err *error) {
	v := recover()
	if v == nil {
		return
	}
	p.Log.Error("gRPC handler panicked", "method", method, "panic", v)
	*err = status.Errorf(codes.Internal, "%s: internal error", method)
}
