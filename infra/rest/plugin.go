// Package rest is the HTTP server of an agent. Plugins add their endpoints to
// it; it serves them together with an index page and the version.
package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// closePatience is how long requests may go on when the agent stops; their
// contexts have ended then.
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

	mu     sync.Mutex
	addr   net.Addr
	server *http.Server
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
}

var _ HTTPHandlers = (*Plugin)(nil)

// ConfigSpec returns the defaults of http.conf.
func (p *Plugin) ConfigSpec() any { return p.base() }

func (p *Plugin) base() Config {
	if p.defaults != nil {
		return *p.defaults
	}
	return DefaultConfig()
}

// DefineFlags adds --http-port.
func (p *Plugin) DefineFlags(fs *pflag.FlagSet) {
	p.flags = fs
	fs.IntVar(&p.port, "http-port", 0, "`port` of the HTTP server; replaces the one of http.conf")
}

// SetHost tells the plugin which agent the index page is about.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init reads the configuration and adds the plugin's own endpoints.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, p.base())
	if err != nil {
		return err
	}
	if p.flags != nil && p.flags.Changed("http-port") {
		host, _, _ := net.SplitHostPort(cfg.Endpoint)
		cfg.Endpoint = net.JoinHostPort(host, strconv.Itoa(p.port))
		if err := cfg.Validate(); err != nil {
			return fmt.Errorf("--http-port: %w", err)
		}
	}
	p.cfg = cfg
	return p.Register(p.String(),
		Endpoint{Path: "/{$}", Handler: p.index, Doc: "this page"},
		Endpoint{Path: "/info/version", Handler: p.version, Doc: "which program this is, as JSON"},
	)
}

// AfterInit listens and serves.
func (p *Plugin) AfterInit() error {
	if p.Disabled() {
		p.Log.Info("HTTP server is disabled")
		return nil
	}
	tlsConfig, err := p.cfg.tls()
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(p.Context(), "tcp", p.cfg.Endpoint)
	if err != nil {
		return p.listenError(err)
	}
	server := &http.Server{
		Handler:           p.handler(),
		TLSConfig:         tlsConfig,
		ReadTimeout:       p.cfg.ReadTimeout,
		ReadHeaderTimeout: p.cfg.ReadHeaderTimeout,
		WriteTimeout:      p.cfg.WriteTimeout,
		IdleTimeout:       p.cfg.IdleTimeout,
		MaxHeaderBytes:    p.cfg.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logging.Slog(p.Log).Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return p.Context() },
	}
	p.mu.Lock()
	p.addr, p.server = ln.Addr(), server
	p.mu.Unlock()
	p.Go(func(ctx context.Context) { p.serve(ctx, server, ln) })
	p.Log.Info("serving HTTP", "address", ln.Addr().String(), "tls", tlsConfig != nil)
	p.Health.OK("listening on " + ln.Addr().String())
	return nil
}

// serve runs the server until the context of the plugin ends.
func (p *Plugin) serve(ctx context.Context, server *http.Server, ln net.Listener) {
	shut := make(chan struct{})
	go func() { // ends with ctx; waited for below
		defer close(shut)
		<-ctx.Done()
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		if err := server.Shutdown(bound); err != nil {
			_ = server.Close() // whoever still talks is cut off
		}
	}()
	var err error
	if server.TLSConfig != nil {
		err = server.ServeTLS(ln, "", "")
	} else {
		err = server.Serve(ln)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		p.Log.Error("HTTP server ended", "error", err)
		p.Health.Failed("HTTP server ended", err)
	}
	<-shut
}

// Disabled tells whether the configuration switched the server off. Endpoints
// can be registered nevertheless.
func (p *Plugin) Disabled() bool { return p.cfg.Disabled || p.cfg.Disable }

// Addr returns the address the server listens on, nil before AfterInit and
// when it is disabled.
func (p *Plugin) Addr() net.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// URL returns the root of the server ("http://127.0.0.1:9191"), or "" if it
// does not listen.
func (p *Plugin) URL() string {
	addr := p.Addr()
	if addr == nil {
		return ""
	}
	scheme := "http"
	if p.cfg.ServerCertFile != "" {
		scheme = "https"
	}
	return scheme + "://" + addr.String()
}

func (p *Plugin) listenError(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: %w", p.cfg.Endpoint, err)
	}
	by := ""
	if who := holder(p.cfg.Endpoint); who != "" {
		by = " by " + who
	}
	return fmt.Errorf("listen on %s: the address is taken%s (set endpoint in http.conf, or --http-port): %w",
		p.cfg.Endpoint, by, syscall.EADDRINUSE)
}

// tls returns nil if the server shall not speak TLS.
func (c Config) tls() (*tls.Config, error) {
	if c.ServerCertFile == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.ServerCertFile, c.ServerKeyFile)
	if err != nil {
		return nil, fmt.Errorf("server-cert-file, server-key-file: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if len(c.ClientCertFiles) == 0 {
		return t, nil
	}
	t.ClientAuth, t.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	for _, file := range c.ClientCertFiles {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("client-cert-files: %w", err)
		}
		if !t.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("client-cert-files: %s: expected certificates in PEM", file)
		}
	}
	return t, nil
}
