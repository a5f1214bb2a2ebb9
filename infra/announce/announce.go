// Package announce is the plugin that publishes to data stores where the servers of the
// agent can be reached, so that clients find agents by their labels. The entry has the
// lifetime of the agent where the store supports that, see package publish.
//
// The address of a server that listens on all addresses is the one that this host has
// towards the store.
package announce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

const (
	// lookInterval is how often the plugin determines the addresses again.
	lookInterval = 10 * time.Second
	// expire is how long the entry of an agent that crashed remains in a store that has
	// TTLs but no lifetimes.
	expire = 30 * time.Second
	// lookTimeout limits the resolution of the names of a store's servers.
	lookTimeout = 5 * time.Second
)

// DefaultName is the name of the plugin; its configuration file is announce.conf.
const DefaultName = "announce"

// Plugin publishes the addresses of the servers.
type Plugin struct {
	Deps
	cfg  Config
	host infra.Host

	targets []target
}

// target is a store to publish to.
type target struct {
	store Store
	to    *publish.Publisher
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// HTTP and GRPC are the servers.
	HTTP HTTPServer
	GRPC Server
	// Label provides the key prefix, Identity the rest of what the entry says.
	Label    AgentPrefix
	Identity Identity
	// Stores are the data stores that the addresses can be published to.
	Stores []publish.Store `optional:"true"`
}

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() { p.SetDefaultName(DefaultName) }

// Server is a server of the agent. Its methods are called from AfterInit on.
type Server interface {
	// Addr returns the address that the server listens on; nil if there is none.
	Addr() net.Addr
	// TLS reports whether the server speaks TLS at this address.
	TLS() bool
}

// HTTPServer is the HTTP server of the agent.
type HTTPServer interface {
	Server
	rest.HTTPHandlers
	// AllowHosts adds names by which the server may be addressed.
	AllowHosts(names ...string)
}

// Store is a data store on servers, which other processes can read.
type Store interface {
	publish.Store
	// Servers returns the addresses of servers of the store, host:port.
	Servers() []string
}

// AgentPrefix provides the prefix of this agent's keys in a data store.
type AgentPrefix interface {
	GetAgentPrefix() string
}

// Identity provides the identity of the agent.
type Identity interface {
	Identity() holder.Identity
}

// Config is the file announce.conf.
type Config struct {
	Stores       []string `json:"stores" desc:"names of the data stores that the addresses of the servers are published to, with the key info/v1/agent; the default is etcd, consul and redis if they are configured, an empty list is none"`
	HTTPEndpoint string   `json:"http-endpoint" desc:"address of the HTTP server for clients, host or host:port; the default is the address that it listens on, and for 0.0.0.0 the address of this host towards the store"`
	GRPCEndpoint string   `json:"grpc-endpoint" desc:"address of the gRPC server for clients, host or host:port; the default is as for http-endpoint"`
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	for key, endpoint := range map[string]string{"http-endpoint": c.HTTPEndpoint, "grpc-endpoint": c.GRPCEndpoint} {
		if endpoint == "" {
			continue
		}
		_, _, err := split(endpoint)
		check.Expect(err == nil, "%s: %q: expected host or host:port", key, endpoint)
	}
	return check.Err()
}

// split splits an address into host and port, which is empty if it is missing.
func split(endpoint string) (host, port string, err error) {
	if ip := net.ParseIP(endpoint); ip != nil {
		return endpoint, "", nil
	}
	host, port, err = net.SplitHostPort(endpoint)
	if missing, ok := errors.AsType[*net.AddrError](err); ok && missing.Err == "missing port in address" {
		host, err = endpoint, nil
	}
	if err != nil {
		return "", "", err
	}
	if _, perr := strconv.ParseUint(port, 10, 16); host == "" || port != "" && perr != nil {
		return "", "", fmt.Errorf("%q: expected host or host:port", endpoint)
	}
	return host, port, nil
}

var (
	_ infra.PostInit  = (*Plugin)(nil)
	_ infra.HostAware = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of announce.conf.
func (p *Plugin) ConfigSpec() any { return Config{} }

// SetHost sets the agent whose build the plugin publishes.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init reads the configuration and adds the endpoint.
func (p *Plugin) Init() error {
	if p.host == nil {
		return fmt.Errorf("plugin %s: needs an agent", p)
	}
	cfg, _, err := config.Load(p.Cfg, Config{})
	if err != nil {
		return err
	}
	p.cfg = cfg
	stores, err := publish.Choose("stores", cfg.Stores, p.Stores, p.Log)
	if err != nil {
		return err
	}
	for _, s := range stores {
		servers, ok := s.(Store)
		if !ok {
			return fmt.Errorf("stores: %s has no servers, so other processes cannot read it", s)
		}
		p.publishTo(servers, p.Health.Scope("publish to "+s.String()))
	}
	if cfg.Stores == nil {
		for _, s := range p.Stores {
			if servers, ok := s.(Store); ok && !s.Disabled() {
				p.publishTo(servers, nil) // by default, so a failure does not change the health
			}
		}
	}
	return p.HTTP.Register(p.String(), rest.Endpoint{
		Path: announced.AgentPath, Response: holder.Identity{}, Groups: []string{rest.GroupInfo}, Doc: "identity of the agent: its label, instance, host and process",
		Handler: func(w http.ResponseWriter, _ *http.Request) { rest.WriteJSON(w, http.StatusOK, p.Identity.Identity()) },
	})
}

func (p *Plugin) publishTo(s Store, trouble health.Reporter) {
	p.targets = append(p.targets, target{s, publish.New(publish.Options{
		Store: s, Prefix: p.Label.GetAgentPrefix() + announced.Prefix, What: "the addresses of the servers", Log: p.Log, Health: trouble,
		Expire: expire,
	})})
}

// AfterInit sets the names that the HTTP server announces, and starts publishing.
func (p *Plugin) AfterInit() error {
	p.HTTP.AllowHosts(p.Identity.Identity().Label)
	if host, _, err := split(p.cfg.HTTPEndpoint); err == nil {
		p.HTTP.AllowHosts(host)
	}
	for _, t := range p.targets {
		p.Go(t.to.Run)
		p.Go(func(ctx context.Context) { p.follow(ctx, t) })
	}
	return nil
}

// follow publishes the addresses as they change, until ctx ends.
func (p *Plugin) follow(ctx context.Context, t target) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	failed := ""
	for {
		agent, err := p.agent(ctx, t.store)
		switch {
		case err == nil:
			failed = ""
			t.to.Set(p.Label.GetAgentPrefix()+announced.AgentKey, agent)
		case ctx.Err() == nil && err.Error() != failed:
			failed = err.Error()
			p.Log.Warn("cannot determine the address of this host; clients do not find the agent by its label", "store", t.store.String(), "error", err,
				"hint", "set http-endpoint and grpc-endpoint in announce.conf")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// agent returns the message that is published to a store.
func (p *Plugin) agent(ctx context.Context, store Store) (*announced.Agent, error) {
	id := p.Identity.Identity()
	a := &announced.Agent{Label: id.Label, Instance: id.Instance, Host: id.Host, Program: p.host.Build().App, Version: p.host.Build().Version}
	var err error
	if a.Http, err = server(ctx, p.HTTP, p.cfg.HTTPEndpoint, store.Servers()); err != nil {
		return nil, fmt.Errorf("HTTP server: %w", err)
	}
	if a.Grpc, err = server(ctx, p.GRPC, p.cfg.GRPCEndpoint, store.Servers()); err != nil {
		return nil, fmt.Errorf("gRPC server: %w", err)
	}
	return a, nil
}

// server returns how clients reach a server; nil if it does not listen on TCP.
func server(ctx context.Context, s Server, endpoint string, storeServers []string) (*announced.Server, error) {
	listens, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		return nil, nil
	}
	host, port := listens.IP.String(), strconv.Itoa(listens.Port)
	switch {
	case endpoint != "":
		given, givenPort, err := split(endpoint)
		if err != nil {
			return nil, err
		}
		host = given
		if givenPort != "" {
			port = givenPort
		}
	case listens.IP.IsUnspecified():
		network := "udp"
		if listens.IP.To4() != nil { // it listens on IPv4 only
			network = "udp4"
		}
		towards, err := hostAddress(ctx, network, storeServers)
		if err != nil {
			return nil, err
		}
		host = towards
	}
	return &announced.Server{Address: net.JoinHostPort(host, port), Tls: s.TLS()}, nil
}

// hostAddress returns the address that this host uses to reach one of the servers. It
// sends nothing to them.
func hostAddress(ctx context.Context, network string, servers []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var d net.Dialer
	err := errors.New("the store has no servers")
	for _, s := range servers {
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, s); err != nil {
			continue
		}
		host, _, err := net.SplitHostPort(conn.LocalAddr().String())
		return host, errors.Join(err, conn.Close())
	}
	return "", err
}
