// Package rest is the HTTP server of an agent. Plugins register their
// endpoints. The server adds an index page and the version.
package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// closePatience is how long requests may continue after the agent has ended
// their contexts at its stop.
const closePatience = 2 * time.Second

// Plugin is the HTTP server. Endpoints can be added from Init on, also while
// it serves. It listens from its AfterInit to its Close.
type Plugin struct {
	Deps

	defaults *Config
	cfg      Config
	port     int // of --http-port; 0 if not given
	host     infra.Host
	flags    *pflag.FlagSet

	once   sync.Once
	router *router
	guard  *guard // nil: clients need no credentials

	mu    sync.Mutex
	addr  net.Addr
	certs *certs.Server // nil: the server does not use TLS
	hosts []string      // of AllowHosts
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
}

var _ HTTPHandlers = (*Plugin)(nil)

// ConfigSpec returns the defaults of http.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// DefineFlags adds --http-port.
func (p *Plugin) DefineFlags(fs *pflag.FlagSet) {
	p.flags = fs
	fs.IntVar(&p.port, "http-port", 0, "`port` of the HTTP server; replaces the one of http.conf")
}

// SetHost sets the agent of the index page.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init reads the configuration and registers the plugin's own endpoints.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
	if err != nil {
		return err
	}
	if p.flags != nil && p.flags.Changed("http-port") {
		host, _, err := net.SplitHostPort(cfg.Endpoint)
		if err != nil { // there is no endpoint whose port could be replaced
			host = "127.0.0.1"
		}
		cfg.Endpoint = net.JoinHostPort(host, strconv.Itoa(p.port))
		if err := cfg.Validate(); err != nil {
			return fmt.Errorf("--http-port: %w", err)
		}
	}
	p.cfg = cfg
	if p.guard, err = p.newGuard(); err != nil {
		return err
	}
	return p.Register(p.String(),
		Endpoint{Path: "/{$}", Handler: p.index, Doc: "this page", Groups: []string{GroupInfo}},
		Endpoint{Path: "/openapi.json", Handler: p.openAPI, Response: map[string]any{}, Doc: "the endpoints as an OpenAPI document", Groups: []string{GroupInfo}},
		Endpoint{Path: accessPath, Handler: p.access, Response: Access{}, Doc: "the user of the request, and the endpoints that this user may use", Groups: []string{GroupInfo}},
		Endpoint{Path: "/info/version", Handler: p.version, Response: Version{}, Doc: "program and build, as JSON", Groups: []string{GroupInfo}},
	)
}

// AfterInit opens the listeners and starts the server.
func (p *Plugin) AfterInit() error {
	if p.Disabled() {
		p.Log.Info("HTTP server is disabled")
		return nil
	}
	pair, err := p.certificates()
	if err != nil {
		return err
	}
	listeners, err := p.open(p.Context())
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           p.handler(),
		ReadHeaderTimeout: p.cfg.ReadHeaderTimeout,
		WriteTimeout:      p.cfg.WriteTimeout,
		IdleTimeout:       p.cfg.IdleTimeout,
		MaxHeaderBytes:    p.cfg.MaxHeaderBytes,
		ErrorLog:          logging.StdLog(p.Log),
		ConnState:         p.routes().metrics.connected,
		BaseContext:       func(net.Listener) context.Context { return p.Context() },
	}
	if pair != nil {
		server.TLSConfig = pair.Config()
	}
	p.mu.Lock()
	p.addr, p.certs = listeners[0].Addr(), pair
	p.mu.Unlock()
	p.warn(listeners)
	p.serve(server, listeners)
	if files, _, err := config.Files(p.Cfg); err == nil && p.guard == nil {
		p.Go(func(ctx context.Context) {
			accounts.WarnOfFirst(ctx, files, func() (bool, error) {
				cfg, _, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
				return cfg.hasAccounts(), err
			}, p.Log)
		})
	}
	p.Health.OK("listening on " + listeners[0].Addr().String())
	return nil
}

// serve runs the server until the context of the plugin ends.
func (p *Plugin) serve(server *http.Server, listeners []listener) {
	for _, d := range listeners {
		p.Go(func(context.Context) {
			serve := server.Serve
			if d.tls {
				serve = func(ln net.Listener) error { return server.ServeTLS(ln, "", "") }
			}
			if err := serve(d); !errors.Is(err, http.ErrServerClosed) {
				p.Log.Error("HTTP server ended", "address", d.Addr().String(), "error", err)
				p.Health.Failed("HTTP server ended", err)
			}
		})
		p.Log.Info("serving HTTP", "address", d.Addr().String(), "tls", d.tls, "protected", p.cfg.protected())
	}
	p.Go(func(ctx context.Context) {
		<-ctx.Done()
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		if err := server.Shutdown(bound); err != nil {
			_ = server.Close() // closes remaining connections
		}
	})
}

// Disabled reports whether the configuration disables the server. Endpoints can
// be registered nevertheless.
func (p *Plugin) Disabled() bool { return p.cfg.Disabled || p.cfg.Disable }

// Addr returns the address the server listens on. It is nil before AfterInit
// and if the server is disabled.
func (p *Plugin) Addr() net.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// TLS reports whether the server speaks TLS on TCP.
func (p *Plugin) TLS() bool { return p.cfg.ServerCertFile != "" }

// URL returns the root of the server ("http://127.0.0.1:9191"), or "" if it
// does not listen on TCP.
func (p *Plugin) URL() string {
	addr := p.Addr()
	if addr == nil || addr.Network() == "unix" {
		return ""
	}
	scheme := "http"
	if p.TLS() {
		scheme = "https"
	}
	return scheme + "://" + addr.String()
}
