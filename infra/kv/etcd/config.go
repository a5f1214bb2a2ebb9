package etcd

import (
	"crypto/tls"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// Config is the file etcd.conf. Without that file the plugin is disabled.
type Config struct {
	Endpoints             []string      `json:"endpoints" desc:"addresses of the servers, host:port; the default is ETCD_ENDPOINTS, else 127.0.0.1:2379"`
	DialTimeout           time.Duration `json:"dial-timeout" desc:"timeout of one attempt to connect"`
	OperationTimeout      time.Duration `json:"operation-timeout" desc:"timeout of one request"`
	WatchTimeout          time.Duration `json:"watch-timeout" desc:"a watch on which the server has sent nothing for this time is renewed from its last revision; the connector requests a response after half of it"`
	InsecureTransport     bool          `json:"insecure-transport" desc:"do not use TLS, even if other keys configure it"`
	InsecureSkipTLSVerify bool          `json:"insecure-skip-tls-verify" desc:"do not verify the certificate of the server"`
	CertFile              string        `json:"cert-file" desc:"certificate of this client in PEM; if it or ca-file is set, the connection uses TLS"`
	KeyFile               string        `json:"key-file" desc:"private key of this client in PEM"`
	CAFile                string        `json:"ca-file" desc:"CA certificates in PEM that sign the certificates of the servers"`
	AutoCompact           time.Duration `json:"auto-compact" desc:"compact history older than this periodically; 0 leaves compaction to the server"`
	ResyncAfterReconnect  bool          `json:"resync-after-reconnect" desc:"read all values and compare them with the southbound after each reconnect, instead of continuing with the changes"`
	AllowDelayedStart     bool          `json:"allow-delayed-start" desc:"start without the server and connect when it becomes available; if false, the start of the agent fails"`
	ReconnectInterval     time.Duration `json:"reconnect-interval" desc:"maximum delay between two attempts to connect"`
	SessionTTL            int           `json:"session-ttl" desc:"number of seconds after which values published by this agent expire if it does not renew them"`
	ExpandEnvVars         bool          `json:"expand-env-variables" desc:"expand environment variables ($NAME, ${NAME}) in values"`
}

// minAutoCompact is the interval below which other watchers may miss history.
const minAutoCompact = time.Hour

// minWatchTimeout is the shortest time after which a watch counts as broken.
const minWatchTimeout = 100 * time.Millisecond

// DefaultConfig returns the defaults of the configuration file.
func DefaultConfig() Config {
	return Config{
		DialTimeout: time.Second, OperationTimeout: 3 * time.Second, WatchTimeout: 20 * time.Second, AllowDelayedStart: true,
		ReconnectInterval: 2 * time.Second, SessionTTL: 5,
	}
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"dial-timeout", c.DialTimeout}, {"operation-timeout", c.OperationTimeout}, {"reconnect-interval", c.ReconnectInterval}} {
		check.Expect(d.value >= time.Millisecond, "%s: %v: expected a duration such as 2s", d.key, d.value)
	}
	check.Expect(c.WatchTimeout >= minWatchTimeout, "watch-timeout: %v: expected at least %v", c.WatchTimeout, minWatchTimeout)
	check.Expect(c.SessionTTL >= 1, "session-ttl: %d: expected at least 1 (seconds)", c.SessionTTL)
	check.Expect(c.AutoCompact == 0 || c.AutoCompact >= time.Second, "auto-compact: %v: expected 0, or at least 1s", c.AutoCompact)
	for i, e := range c.Endpoints {
		check.Expect(strings.TrimSpace(e) != "", "endpoints[%d]: expected host:port", i)
	}
	check.Expect((c.CertFile == "") == (c.KeyFile == ""), "cert-file, key-file: expected both or none")
	return check.Err()
}

// endpoints returns the addresses of the servers.
func (c Config) endpoints() []string {
	if len(c.Endpoints) > 0 {
		return c.Endpoints
	}
	env, _ := config.Env("ETCD_ENDPOINTS")
	var list []string
	for e := range strings.SplitSeq(env, ",") {
		if e = strings.TrimSpace(e); e != "" {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		list = []string{"127.0.0.1:2379"}
	}
	return list
}

// servers returns the addresses of the servers, host:port.
func (c Config) servers() []string {
	var list []string
	for _, e := range c.endpoints() {
		if _, address, found := strings.Cut(e, "://"); found {
			e = address
		}
		list = append(list, e)
	}
	return list
}

// tls returns the TLS configuration; nil disables TLS.
func (c Config) tls() (*tls.Config, error) {
	secured := c.CertFile != "" || c.CAFile != "" || c.InsecureSkipTLSVerify
	for _, e := range c.endpoints() {
		secured = secured || strings.HasPrefix(e, "https://")
	}
	if c.InsecureTransport || !secured {
		return nil, nil
	}
	return certs.Client{Cert: c.CertFile, Key: c.KeyFile, CA: c.CAFile, SkipVerify: c.InsecureSkipTLSVerify}.Config()
}
