// Package grpc is the gRPC server of an agent. Plugins register their services
// in their Init. The server listens on TCP or a unix socket, and also provides
// the standard services for health and reflection.
package grpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

// closePatience is how long calls may continue after the agent has ended their
// contexts at its stop.
const closePatience = 2 * time.Second

// Services registers gRPC services of plugins.
type Services interface {
	// Register adds a service, whose description is in the generated code
	// (manager_grpc.pb.go: ManagerService_ServiceDesc). It must be called in
	// Init: services cannot be added once the server runs.
	Register(desc *rpc.ServiceDesc, impl any, opts ...ServiceOption) error
}

// Plugin is the gRPC server. It listens from its AfterInit to its Close, which
// ends the contexts of running calls.
type Plugin struct {
	Deps

	defaults *Config
	cfg      Config
	explicit bool // the server was requested by a file or a flag
	port     int  // of --grpc-port; 0 if not given
	socket   string
	flags    *pflag.FlagSet
	host     infra.Host
	calls    *calls
	guard    *guard // nil: clients need no credentials

	mu       sync.Mutex
	services map[string]service
	serving  bool
	addrs    []net.Addr

	descriptors Descriptors // of reflection
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Metrics is the registry of the call metrics; nil disables them.
	Metrics metrics.Registerer `optional:"true"`
}

type service struct {
	desc  *rpc.ServiceDesc
	impl  any
	reads []string // methods that change nothing
	large []string // of these, the ones with large requests

	descriptors Descriptors // nil: the descriptors of the program
}

var (
	_ Services       = (*Plugin)(nil)
	_ infra.PostInit = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of grpc.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// DefineFlags adds --grpc-port and --grpc-socket.
func (p *Plugin) DefineFlags(fs *pflag.FlagSet) {
	p.flags = fs
	fs.IntVar(&p.port, "grpc-port", 0, "`port` of the gRPC server; replaces the one of grpc.conf")
	fs.StringVar(&p.socket, "grpc-socket", "", "`path` of a unix socket of the gRPC server; replaces the one of grpc.conf")
}

// SetHost sets the agent whose health the server reports.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init reads the configuration.
func (p *Plugin) Init() error {
	cfg, found, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
	if err != nil {
		return err
	}
	p.explicit = found || p.defaults != nil
	if cfg, err = p.withFlags(cfg); err != nil {
		return err
	}
	cfg.MaxMsgSize = cmp.Or(cfg.MaxMsgSize, defaultMaxMsgSize)
	cfg.MaxConcurrentStreams = cmp.Or(cfg.MaxConcurrentStreams, defaultMaxStreams)
	p.cfg = cfg
	if p.Disabled() {
		return nil
	}
	var registry prometheus.Registerer
	if cfg.PrometheusMetrics && p.Metrics != nil {
		registry = p.Metrics.Registry()
	}
	p.calls, err = newCalls(registry, p.known)
	if err != nil {
		return err
	}
	if cfg.ExtendedLogging {
		p.calls.log = p.Log
	}
	if p.guard, err = p.newGuard(); err != nil {
		return err
	}
	return p.Register(&grpc_health_v1.Health_ServiceDesc, &healthService{p: p}, ReadOnly(methods(&grpc_health_v1.Health_ServiceDesc)...))
}

func (p *Plugin) withFlags(cfg Config) (Config, error) {
	if p.flags == nil {
		return cfg, nil
	}
	if p.flags.Changed("grpc-port") {
		if cfg.Network == "unix" {
			return cfg, errors.New("--grpc-port: the network in grpc.conf is unix, which has no ports")
		}
		host, _, _ := net.SplitHostPort(cfg.Endpoint)
		cfg.Endpoint = net.JoinHostPort(host, strconv.Itoa(p.port))
		p.explicit = true
		if err := cfg.Validate(); err != nil {
			return cfg, fmt.Errorf("--grpc-port: %w", err)
		}
	}
	if p.flags.Changed("grpc-socket") {
		cfg.Socket, p.explicit = p.socket, true
		if err := cfg.Validate(); err != nil {
			return cfg, fmt.Errorf("--grpc-socket: %w", err)
		}
	}
	return cfg, nil
}

// Register adds a service, see Services. A disabled server also accepts
// services.
func (p *Plugin) Register(desc *rpc.ServiceDesc, impl any, opts ...ServiceOption) error {
	svc := service{desc: desc, impl: impl}
	for _, o := range opts {
		o(&svc)
	}
	if err := svc.checkReads(); err != nil {
		return err
	}
	if want := reflect.TypeOf(desc.HandlerType).Elem(); impl == nil || !reflect.TypeOf(impl).Implements(want) {
		return fmt.Errorf("register service %s: %T does not implement %s", desc.ServiceName, impl, want)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving {
		return fmt.Errorf("register service %s: the server runs already; services are registered in Init", desc.ServiceName)
	}
	if _, taken := p.services[desc.ServiceName]; taken {
		return fmt.Errorf("register service %s: registered already", desc.ServiceName)
	}
	if p.services == nil {
		p.services = map[string]service{}
	}
	p.services[desc.ServiceName] = svc
	if svc.descriptors != nil {
		p.descriptors = svc.descriptors
	}
	return nil
}

// AfterInit opens the listeners and starts the server.
func (p *Plugin) AfterInit() error {
	p.mu.Lock()
	p.serving = true
	p.mu.Unlock()
	if p.Disabled() {
		p.Log.Info("gRPC server is disabled")
		return nil
	}
	listeners, err := p.open()
	if err != nil {
		if p.explicit || !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		// The server was not requested explicitly, so the start does not fail
		// because its default address is taken: several agents may run on one
		// machine.
		p.Log.Warn("gRPC is not served: the default address is taken", "address", p.cfg.Endpoint, "hint", "set endpoint in grpc.conf, or --grpc-port")
		p.Health.OK("not listening, the default address " + p.cfg.Endpoint + " is taken; set endpoint in grpc.conf, or --grpc-port")
		return nil
	}
	reload.WarnOfOpen(p.Log, p.cfg.KeyFile, p.cfg.TokensFile) // the agent checks the configuration file itself
	p.warnOfUnknown()
	for _, d := range listeners {
		server := p.newServer(d)
		p.mu.Lock()
		p.addrs = append(p.addrs, d.Addr())
		p.mu.Unlock()
		p.Go(func(ctx context.Context) { p.serve(ctx, server, d) })
		p.Log.Info("serving gRPC", "address", d.Addr().String(), "tls", d.creds != nil, "protected", p.cfg.protected())
		p.warnOfExposure(d)
	}
	if files, _, err := config.Files(p.Cfg); err == nil && p.guard == nil {
		p.Go(func(ctx context.Context) {
			accounts.WarnOfFirst(ctx, files, func() (bool, error) {
				cfg, _, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
				return len(cfg.Tokens)+len(cfg.ClientBasicAuth)+len(cfg.Users) > 0 || cfg.TokensFile != "", err
			}, p.Log)
		})
	}
	p.Health.OK("listening on " + addresses(listeners))
	return nil
}

// newServer creates the server of one listener.
func (p *Plugin) newServer(d listener) *rpc.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := rpc.NewServer(append(p.serverOptions(d), rpc.ForceServerCodecV2(newLimitedCodec(p.services)))...)
	for _, svc := range p.services {
		s.RegisterService(withLimits(svc.desc), svc.impl)
	}
	if p.cfg.Reflection {
		registerReflection(s, p.descriptors)
	}
	return s
}

// serve runs a server until the context of the plugin ends.
func (p *Plugin) serve(ctx context.Context, s *rpc.Server, d listener) {
	shut := make(chan struct{})
	go func() { // ends with ctx; waited for below
		defer close(shut)
		<-ctx.Done()
		impatient := time.AfterFunc(closePatience, func() { // closes remaining connections
			d.cutOff()
			s.Stop()
		})
		defer impatient.Stop()
		s.GracefulStop()
	}()
	if err := s.Serve(d); err != nil && ctx.Err() == nil {
		p.Log.Error("gRPC server ended", "address", d.Addr().String(), "error", err)
		p.Health.Failed("gRPC server ended", err)
	}
	<-shut
}

// Disabled reports whether the configuration disables the server.
func (p *Plugin) Disabled() bool { return p.cfg.Disabled }

// Addr returns the address of the endpoint. It is nil before AfterInit and if
// the server does not listen.
func (p *Plugin) Addr() net.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.addrs) == 0 {
		return nil
	}
	return p.addrs[0]
}

// TLS reports whether the server speaks TLS on TCP.
func (p *Plugin) TLS() bool { return p.cfg.CertFile != "" && !p.cfg.InsecureTransport }

// known reports whether a service is registered.
func (p *Plugin) known(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.services[name]
	return ok
}
