package grpc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

const (
	// maxHeader limits the header of a call, in bytes.
	maxHeader = 64 << 10
	// handshakeTimeout limits the setup of a connection.
	handshakeTimeout = 10 * time.Second
)

func (p *Plugin) serverOptions(d listener) []rpc.ServerOption {
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

// guard authenticates clients by token or by user and password, and checks their
// permissions. It does so before the server reads the message of a call.
type guard struct {
	users    *reload.Value[users]    // of grpc.conf
	file     *reload.Value[[]secret] // nil: there is no tokens-file
	attempts *accounts.Attempts
	now      func() time.Time
	reject   func() // called for each rejected call
	may      func(a *accounts.Account, method string, header metadata.MD) error
	log      logging.Logger
}

// newGuard returns nil if clients need no credentials.
func (p *Plugin) newGuard() (*guard, error) {
	file, err := p.liveTokens()
	if err != nil {
		return nil, err
	}
	live, err := p.liveUsers(file != nil)
	if err != nil || live == nil {
		return nil, err
	}
	return &guard{users: live, file: file, attempts: accounts.NewAttempts(time.Now), now: time.Now, reject: p.calls.reject, may: p.mayCall, log: p.Log}, nil
}

// users are the tokens and the users with passwords in grpc.conf.
type users struct {
	tokens   []secret
	accounts *accounts.Accounts // nil: there are no passwords
}

func (c Config) users() (users, error) {
	known, err := c.lists().Accounts(permAll)
	return users{c.secrets(), known}, err
}

// liveUsers follows the users in grpc.conf; other keys need a restart. It returns nil if clients need no
// credentials, which does not change while the server runs: a file that was cut off must not open it.
func (p *Plugin) liveUsers(otherTokens bool) (*reload.Value[users], error) {
	first, err := p.cfg.users()
	if err != nil {
		return nil, err
	}
	needed := otherTokens || len(first.tokens) > 0 || first.accounts != nil
	if !needed {
		return nil, nil
	}
	files, path, err := config.Files(p.Cfg)
	if err != nil {
		return nil, err
	}
	loaded := false
	load := func() (users, error) {
		if !loaded {
			loaded = true
			return first, nil
		}
		cfg, _, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
		if err != nil {
			return users{}, err
		}
		now, err := cfg.users()
		if err == nil && !otherTokens && len(now.tokens) == 0 && now.accounts == nil {
			err = errors.New("without tokens and users every client would have access: restart the agent if that is intended")
		}
		return now, err
	}
	return reload.Load(files, load, reload.Options{Changed: reload.Log(p.Log, "tokens and users of the gRPC server; other changes of the file need a restart", path)})
}

// check rejects calls without valid credentials or permission. The health
// service is open to all clients, since probes have no credentials.
func (g *guard) check(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName == grpc_health_v1.Health_Check_FullMethodName {
		return ctx, nil
	}
	account, err := g.who(ctx, info.Header)
	if err == nil {
		err = g.may(account, info.FullMethodName, info.Header)
	}
	if err != nil {
		g.reject()
		return nil, err
	}
	return context.WithValue(ctx, accountKey{}, account), nil
}

// who returns the account of the credentials. Clients of gNMI send a user and password as
// metadata of these names.
func (g *guard) who(ctx context.Context, header metadata.MD) (*accounts.Account, error) {
	given, user, password := header.Get("authorization"), header.Get("username"), header.Get("password")
	if len(given) == 0 && len(user) == 1 && len(password) == 1 {
		account, err := g.login(ctx, user[0], password[0])
		if err == nil && account == nil {
			err = status.Error(codes.Unauthenticated, "the metadata (username, password) has an unknown user or a wrong password")
		}
		return account, err
	}
	if len(given) != 1 {
		return nil, status.Error(codes.Unauthenticated, "expected a token in the metadata (authorization: Bearer TOKEN), or a user and password (Basic, or username and password)")
	}
	var account *accounts.Account
	var err error
	scheme, word, _ := strings.Cut(given[0], " ")
	switch { // the scheme is case-insensitive (RFC 9110, 11.1)
	case strings.EqualFold(scheme, "Bearer"):
		var expired bool
		if account, expired = g.knows(word); expired {
			return nil, status.Error(codes.Unauthenticated, "the token in the metadata (authorization) has expired")
		}
	case strings.EqualFold(scheme, "Basic"):
		account, err = g.basic(ctx, word)
	}
	if err == nil && account == nil {
		err = status.Error(codes.Unauthenticated, "the metadata (authorization) has an unknown token, or user and password")
	}
	return account, err
}

// basic returns the account of base64 of user:password, nil if they are wrong.
func (g *guard) basic(ctx context.Context, word string) (*accounts.Account, error) {
	text, err := base64.StdEncoding.DecodeString(word)
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok {
		return nil, nil
	}
	return g.login(ctx, user, password)
}

// login returns the account of a user and password, nil if they are wrong. The
// first login blocks only its own connection while it compares the hash.
func (g *guard) login(ctx context.Context, user, password string) (*accounts.Account, error) {
	known := g.users.Get().accounts
	if known == nil {
		return nil, nil
	}
	account, err := known.Check(ctx, g.attempts, caller(ctx), user, password)
	if tooMany := (*accounts.TooManyError)(nil); errors.As(err, &tooMany) {
		return nil, status.Error(codes.ResourceExhausted, tooMany.Error())
	}
	if err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if account == nil { // the slow comparison limits the rate of this log message
		g.log.Warn("wrong user or password for the gRPC server", "user", user, "remote", caller(ctx))
	}
	return account, nil
}

// knows returns the account of a token. It compares in constant time.
func (g *guard) knows(token string) (who *accounts.Account, expired bool) {
	sum, now := sha256.Sum256([]byte(token)), g.now()
	lists := [][]secret{g.users.Get().tokens}
	if g.file != nil {
		lists = append(lists, g.file.Get())
	}
	for _, list := range lists {
		for i := range list {
			if subtle.ConstantTimeCompare(list[i].sum[:], sum[:]) == 0 {
				continue
			}
			if until := list[i].until; !until.IsZero() && !now.Before(until) {
				expired = true
			} else if who == nil {
				who = list[i].who
			}
		}
	}
	return who, expired && who == nil
}

// unary wraps every unary call: its context ends with the plugin and records
// whether the reply may contain secrets, and its panics are recovered.
func (p *Plugin) unary(ctx context.Context, req any, info *rpc.UnaryServerInfo, next rpc.UnaryHandler) (resp any, err error) {
	ctx, cancel := p.within(p.withSecrets(ctx))
	defer cancel()
	defer p.recovered(info.FullMethod, &err)
	return next(ctx, req)
}

// stream does the same for streams.
func (p *Plugin) stream(srv any, ss rpc.ServerStream, info *rpc.StreamServerInfo, next rpc.StreamHandler) (err error) {
	ctx, cancel := p.within(p.withSecrets(ss.Context()))
	defer cancel()
	defer p.recovered(info.FullMethod, &err)
	bound := &boundStream{ServerStream: ss, p: p, ctx: ctx}
	err = next(srv, bound)
	if status.Code(bound.err) == codes.ResourceExhausted {
		return bound.err // whatever the handler made of it
	}
	return err
}

// within returns a context that ends when the context of the plugin does.
func (p *Plugin) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

func (p *Plugin) recovered(method string, err *error) {
	v := recover()
	if v == nil {
		return
	}
	p.Log.Error("gRPC handler panicked", "method", method, "panic", v)
	*err = status.Errorf(codes.Internal, "%s: internal error", method)
}
