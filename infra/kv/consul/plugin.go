// Package consul is the connector to the key-value store of Consul, over its
// HTTP interface, of which it uses three paths.
//
// Keys of Consul do not begin with a slash: the one that ours begin with is left
// out there. What is followed is asked for as a whole, by a question that Consul
// answers when something has changed, and compared with what was told before.
// There is no history, no TTL, and nothing that lives as long as a client.
//
// A write that failed because it took too long may still be carried out, even
// after a later one, as long as Consul waits for a leader (HoldsWrites).
package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
)

// HoldsWrites is for how long a Consul server keeps a request while there is no
// leader, whether or not its caller still waits: performance.rpc_hold_timeout of
// Consul, of which this is the default.
const HoldsWrites = 7 * time.Second

// maxPause is the longest pause between two attempts to connect.
const maxPause = 2 * time.Second

// Plugin is the connection to Consul.
type Plugin struct {
	Deps
	base *Config // of UseConf; nil: none
	cfg  Config
	db   *database // nil: disabled
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
}

// Config is the file consul.conf. Without that file the plugin is disabled.
type Config struct {
	Address              string        `json:"address" desc:"address of an agent of Consul, host:port, or with http:// or https://"`
	ResyncAfterReconnect bool          `json:"resync-after-reconnect" desc:"compare everything with the southbound after each reconnect, not only what differs from before"`
	Token                string        `json:"token" secret:"true" desc:"token of the access control of Consul"`
	OperationTimeout     time.Duration `json:"operation-timeout" desc:"how long one request may take"`
	CertFile             string        `json:"cert-file" desc:"certificate of this client in PEM, for https"`
	KeyFile              string        `json:"key-file" desc:"private key of this client in PEM"`
	CAFile               string        `json:"ca-file" desc:"certificates in PEM that sign that of the agent of Consul"`
	InsecureSkipVerify   bool          `json:"insecure-skip-tls-verify" desc:"https without a look at the certificate of the agent of Consul"`
}

// DefaultConfig is what holds where the configuration file says nothing.
func DefaultConfig() Config {
	return Config{Address: "127.0.0.1:8500", OperationTimeout: 3 * time.Second}
}

// Validate says which keys have impossible values.
func (c Config) Validate() error {
	var errs []error
	if _, err := c.url(); err != nil {
		errs = append(errs, err)
	}
	if c.OperationTimeout < time.Millisecond {
		errs = append(errs, fmt.Errorf("operation-timeout: %v: expected a duration such as 3s", c.OperationTimeout))
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, errors.New("cert-file, key-file: expected both or none"))
	}
	return errors.Join(errs...)
}

func (c Config) url() (*url.URL, error) {
	address := c.Address
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("address: %q: expected host:port, or a URL of http or https without a path", c.Address)
	}
	u.Path = ""
	return u, nil
}

func (c Config) tls() (*tls.Config, error) {
	return kv.TLS{CertFile: c.CertFile, KeyFile: c.KeyFile, CAFile: c.CAFile, SkipVerify: c.InsecureSkipVerify}.Config()
}

var _ kv.Connector = (*Plugin)(nil)

// ConfigSpec returns the defaults of consul.conf.
func (p *Plugin) ConfigSpec() any { return p.defaults() }

func (p *Plugin) defaults() Config {
	if p.base != nil {
		return *p.base
	}
	return DefaultConfig()
}

// Init prepares the connection, which is made when it is needed.
func (p *Plugin) Init() error {
	cfg, found, err := config.Load(p.Cfg, p.defaults())
	if err != nil {
		return err
	}
	if p.cfg = cfg; !found && p.base == nil {
		p.Log.Debug("disabled: there is no configuration file")
		return nil
	}
	base, err := cfg.url()
	if err != nil {
		return err
	}
	secure, err := cfg.tls()
	if err != nil {
		return err
	}
	p.db = newDatabase(base, secure, cfg.Token, cfg.OperationTimeout)
	p.Log.Info("consul is used", "address", base.Host)
	return nil
}

// Close ends the connections.
func (p *Plugin) Close() error {
	p.StopGoroutines()
	if p.db != nil {
		p.db.http.CloseIdleConnections()
	}
	return nil
}

// Disabled tells that there is no configuration file.
func (p *Plugin) Disabled() bool { return p.db == nil }

// DB gives access to the entries; nil if the plugin is disabled.
func (p *Plugin) DB() kv.DB {
	if p.db == nil {
		return nil
	}
	return p.db
}

// Watch follows the store, see kv.Store.
func (p *Plugin) Watch(ctx context.Context, prefix string, handle func(kv.Update) error) error {
	return follow.Run(ctx, follow.Options{
		Store: p.String(), Prefix: prefix, MaxPause: maxPause, Resync: p.cfg.ResyncAfterReconnect, Log: p.Log, Health: p.Health,
	}, p.db.session, handle)
}

// Put stores the value of a key as JSON; nil removes it. TTLs are not
// supported.
func (p *Plugin) Put(key string, value proto.Message, opts ...kv.PutOption) error {
	return kv.Publish(p.Context(), p.cfg.OperationTimeout, p.DB(), key, value, opts...)
}

// Delete removes a key, or all that begin with it.
func (p *Plugin) Delete(key string, opts ...kv.DelOption) (existed bool, err error) {
	return kv.Withdraw(p.Context(), p.cfg.OperationTimeout, p.DB(), key, opts...)
}
