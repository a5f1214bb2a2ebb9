// Package consul is the connector to the key-value store of Consul. It uses
// five paths of its HTTP API.
//
// Keys in Consul do not begin with a slash, so the connector removes the leading
// slash of the agent's keys. It follows a prefix by blocking queries that return
// all of its entries when one of them changes, and compares the result with the
// previous one. Consul has no history, no TTL of less than 10 seconds, and no
// entries that are bound to the lifetime of a client.
//
// A write that failed because of a timeout may still be executed, even after a
// later one, as long as Consul waits for a leader (HoldsWrites).
package consul

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/connector"
)

// HoldsWrites is how long a Consul server keeps a request while there is no
// leader, even if its client has given up. It is the default of
// performance.rpc_hold_timeout of Consul.
const HoldsWrites = 7 * time.Second

// minWatchTimeout is the shortest timeout of a blocking query.
const minWatchTimeout = 100 * time.Millisecond

// maxPause is the maximum delay between two attempts to connect.
const maxPause = 2 * time.Second

// Plugin is the connection to Consul.
type Plugin struct{ connector.Base[Config] }

// Deps are the dependencies of the plugin.
type Deps = connector.Deps

// Config is the file consul.conf. Without that file the plugin is disabled.
type Config struct {
	Address              string        `json:"address" desc:"address of a Consul agent, host:port or an http or https URL"`
	ResyncAfterReconnect bool          `json:"resync-after-reconnect" desc:"compare all values with the southbound after each reconnect, not only the differences"`
	Token                string        `json:"token" secret:"true" desc:"Consul ACL token"`
	OperationTimeout     time.Duration `json:"operation-timeout" desc:"timeout of one request"`
	WatchTimeout         time.Duration `json:"watch-timeout" desc:"a blocking query without a response for this time is sent again on another connection; the server is asked to respond after half of it"`
	CertFile             string        `json:"cert-file" desc:"certificate of this client in PEM, for https"`
	KeyFile              string        `json:"key-file" desc:"private key of this client in PEM"`
	CAFile               string        `json:"ca-file" desc:"CA certificates in PEM that sign the certificate of the Consul agent"`
	InsecureSkipVerify   bool          `json:"insecure-skip-tls-verify" desc:"do not verify the certificate of the Consul agent"`
}

// DefaultConfig returns the defaults of the configuration file.
func DefaultConfig() Config {
	return Config{Address: "127.0.0.1:8500", OperationTimeout: 3 * time.Second, WatchTimeout: 20 * time.Second}
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	_, err := c.url()
	check.Add(err)
	check.Expect(c.OperationTimeout >= time.Millisecond, "operation-timeout: %v: expected a duration such as 3s", c.OperationTimeout)
	check.Expect(c.WatchTimeout >= minWatchTimeout, "watch-timeout: %v: expected at least %v", c.WatchTimeout, minWatchTimeout)
	check.Expect((c.CertFile == "") == (c.KeyFile == ""), "cert-file, key-file: expected both or none")
	return check.Err()
}

func (c Config) url() (*url.URL, error) {
	address := c.Address
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("address: %q: expected host:port, or an http or https URL without a path", c.Address)
	}
	u.Path = ""
	return u, nil
}

func (c Config) tls() (*tls.Config, error) {
	return certs.Client{Cert: c.CertFile, Key: c.KeyFile, CA: c.CAFile, SkipVerify: c.InsecureSkipVerify}.Config()
}

var _ kv.Connector = (*Plugin)(nil)

// ConfigSpec returns the defaults of consul.conf.
func (p *Plugin) ConfigSpec() any { return p.Defaults(DefaultConfig()) }

// Init prepares the connection, which is established on demand.
func (p *Plugin) Init() error {
	cfg, enabled, err := p.Configure(DefaultConfig())
	if !enabled {
		return err
	}
	db, base, err := cfg.open()
	if err != nil {
		return err
	}
	p.Use(connector.Store{
		DB: db, Servers: []string{net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), base.Scheme))}, Session: db.session, Timeout: cfg.OperationTimeout, MaxPause: maxPause, Resync: cfg.ResyncAfterReconnect, Close: db.close,
	})
	p.Log.Info("using Consul", "address", base.Host)
	return nil
}

func (c Config) open() (*database, *url.URL, error) {
	base, err := c.url()
	if err != nil {
		return nil, nil, err
	}
	secure, err := c.tls()
	if err != nil {
		return nil, nil, err
	}
	return newDatabase(base, secure, c), base, nil
}

// Open connects to Consul without a plugin, for programs that are not agents. It
// connects with the first request.
func Open(cfg Config) (db kv.DB, closeDB func() error, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	d, _, err := cfg.open()
	if err != nil {
		return nil, nil, err
	}
	return d, d.close, nil
}
