package redis

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// Config is the file redis.conf. Without that file the plugin is disabled. With
// master-name the servers are found by sentinels, with endpoints they are a
// cluster, with endpoint there is one server.
type Config struct {
	Endpoint             string        `json:"endpoint" desc:"address of the server, host:port"`
	Endpoints            []string      `json:"endpoints" desc:"addresses of some servers of a cluster, or, with master-name, of the sentinels"`
	MasterName           string        `json:"master-name" desc:"name by which the sentinels know the servers"`
	DB                   int           `json:"db" desc:"number of the database; must be 0 for a cluster"`
	EnableReadOnReplica  bool          `json:"enable-query-on-slave" desc:"read single entries from replicas. Watches still read from masters; if endpoint itself is a replica, they poll it every 5s"`
	MaxRedirects         int           `json:"max-redirects" desc:"maximum number of redirects of a request in a cluster; 0 means 3"`
	MaxRediects          int           `json:"max-rediects" desc:"former spelling of max-redirects"`
	RouteByLatency       bool          `json:"route-by-latency" desc:"read from the server of a cluster with the lowest latency"`
	Password             string        `json:"password" secret:"true" desc:"password of the servers"`
	TLS                  TLS           `json:"tls" desc:"TLS of the connections"`
	DialTimeout          time.Duration `json:"dial-timeout" desc:"timeout of one attempt to connect"`
	ReadTimeout          time.Duration `json:"read-timeout" desc:"timeout of a reply"`
	WriteTimeout         time.Duration `json:"write-timeout" desc:"timeout of sending; 0 means read-timeout"`
	WatchTimeout         time.Duration `json:"watch-timeout" desc:"a subscription on which the server has sent nothing for this time is renewed; the connector requests a response after half of it, and checks then whether keys are missing"`
	Pool                 Pool          `json:"pool" desc:"the connection pool"`
	ResyncAfterReconnect bool          `json:"resync-after-reconnect" desc:"compare all values with the southbound after each reconnect, not only the differences"`
	EnableNotifications  bool          `json:"enable-keyspace-notifications" desc:"set notify-keyspace-events on servers that do not announce changes; if false, this is an error"`
}

// TLS is the part of Config about TLS.
type TLS struct {
	Enabled    bool   `json:"enabled" desc:"use TLS"`
	SkipVerify bool   `json:"skip-verify" desc:"do not check the certificates of the servers"`
	CertFile   string `json:"cert-file" desc:"certificate of this client in PEM"`
	KeyFile    string `json:"key-file" desc:"private key of this client in PEM"`
	CAFile     string `json:"ca-file" desc:"CA certificates in PEM that sign the certificates of the servers"`
}

// Pool configures the connection pool.
type Pool struct {
	MaxConnections     int           `json:"max-connections" desc:"maximum number of connections to one server; 0 means 10 for each CPU"`
	BusyTimeout        time.Duration `json:"busy-timeout" desc:"timeout of waiting for a connection when all are busy; 0 means read-timeout plus 1s"`
	IdleTimeout        time.Duration `json:"idle-timeout" desc:"close connections that are idle for this time; 0 means 30m"`
	IdleCheckFrequency time.Duration `json:"idle-check-frequency" desc:"accepted for compatibility and ignored: idle connections are closed when the pool encounters them"`
}

// minWatchTimeout is the shortest time after which a subscription counts as lost.
const minWatchTimeout = 100 * time.Millisecond

// DefaultConfig returns the defaults of the configuration file.
func DefaultConfig() Config {
	return Config{DialTimeout: 5 * time.Second, ReadTimeout: 3 * time.Second, WatchTimeout: 10 * time.Second, EnableNotifications: true}
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.Endpoint == "" || len(c.Endpoints) == 0, "endpoint, endpoints: expected one of them")
	check.Expect(c.MasterName == "" || len(c.Endpoints) > 0, "endpoints: expected the addresses of the sentinels of master-name")
	for i, e := range c.Endpoints {
		check.Expect(strings.TrimSpace(e) != "", "endpoints[%d]: expected host:port", i)
	}
	check.Expect(c.DB == 0 || c.DB > 0 && !c.cluster(), "db: %d: expected 0 or more, and 0 for a cluster", c.DB)
	check.Expect(c.MaxRedirects >= 0 && c.MaxRediects >= 0, "max-redirects: expected 0 or more")
	check.Expect(c.Pool.MaxConnections >= 0, "pool.max-connections: %d: expected 0 or more", c.Pool.MaxConnections)
	check.Expect(c.DialTimeout >= time.Millisecond, "dial-timeout: %v: expected a duration such as 3s", c.DialTimeout)
	check.Expect(c.ReadTimeout >= time.Millisecond, "read-timeout: %v: expected a duration such as 3s", c.ReadTimeout)
	check.Expect(c.WriteTimeout >= 0, "write-timeout: %v: expected no negative duration", c.WriteTimeout)
	check.Expect(c.WatchTimeout >= minWatchTimeout, "watch-timeout: %v: expected at least %v", c.WatchTimeout, minWatchTimeout)
	check.Expect(c.Pool.BusyTimeout >= 0, "pool.busy-timeout: %v: expected no negative duration", c.Pool.BusyTimeout)
	check.Expect(c.Pool.IdleTimeout >= 0, "pool.idle-timeout: %v: expected no negative duration", c.Pool.IdleTimeout)
	return check.Err()
}

func (c Config) cluster() bool { return len(c.Endpoints) > 0 && c.MasterName == "" }

// where describes the servers, for logs.
func (c Config) where() string {
	switch {
	case c.MasterName != "":
		return c.MasterName + " of the sentinels " + strings.Join(c.Endpoints, ", ")
	case c.cluster():
		return "the cluster of " + strings.Join(c.Endpoints, ", ")
	}
	return c.endpoint()
}

func (c Config) endpoint() string { return cmp.Or(c.Endpoint, "127.0.0.1:6379") }

// servers returns the address of the server, or the addresses of the cluster's servers, or
// of the sentinels.
func (c Config) servers() []string {
	if len(c.Endpoints) > 0 {
		return c.Endpoints
	}
	return []string{c.endpoint()}
}

// silence is the time without traffic on a subscription after which the connector pings the
// server, and how long it waits for the reply.
func (c Config) silence() time.Duration { return c.WatchTimeout / 2 }

// operationTimeout is the timeout of one operation of a Writer.
func (c Config) operationTimeout() time.Duration { return c.DialTimeout + 2*c.ReadTimeout }

func (c Config) tls() (*tls.Config, error) {
	if !c.TLS.Enabled {
		return nil, nil
	}
	cfg, err := certs.Client{Cert: c.TLS.CertFile, Key: c.TLS.KeyFile, CA: c.TLS.CAFile, SkipVerify: c.TLS.SkipVerify}.Config()
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return cfg, nil
}

// open creates a client; replicas reports whether it may read from replicas. The
// client does not retry, since CompareAndSwap must know whether its first attempt
// succeeded.
func (c Config) open(secure *tls.Config, replicas bool) goredis.UniversalClient {
	o := &goredis.UniversalOptions{
		Addrs: c.servers(), MasterName: c.MasterName, DB: c.DB, Password: c.Password, Protocol: 2, DisableIdentity: true,
		IsClusterMode: c.cluster(), ReadOnly: replicas, RouteByLatency: replicas && c.RouteByLatency,
		MaxRedirects: max(c.MaxRedirects, c.MaxRediects), MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: c.DialTimeout, ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout, TLSConfig: secure,
		PoolSize: c.Pool.MaxConnections, PoolTimeout: c.Pool.BusyTimeout, ConnMaxIdleTime: c.Pool.IdleTimeout,
	}
	switch {
	case c.MasterName != "":
		return goredis.NewFailoverClient(o.Failover())
	case c.cluster():
		return goredis.NewClusterClient(o.Cluster())
	}
	return goredis.NewClient(o.Simple())
}
