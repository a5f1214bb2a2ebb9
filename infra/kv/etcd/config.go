package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Config is the file etcd.conf. Without that file the plugin is disabled.
type Config struct {
	Endpoints             []string      `json:"endpoints" desc:"addresses of the servers, host:port; none means those of ETCD_ENDPOINTS, else 127.0.0.1:2379"`
	DialTimeout           time.Duration `json:"dial-timeout" desc:"how long one attempt to connect may take"`
	OperationTimeout      time.Duration `json:"operation-timeout" desc:"how long one request may take"`
	InsecureTransport     bool          `json:"insecure-transport" desc:"no TLS, whatever the other keys say"`
	InsecureSkipTLSVerify bool          `json:"insecure-skip-tls-verify" desc:"TLS without a look at the certificate of the server"`
	CertFile              string        `json:"cert-file" desc:"certificate of this client in PEM; with it, or a ca-file, the connection is secured by TLS"`
	KeyFile               string        `json:"key-file" desc:"private key of this client in PEM"`
	CAFile                string        `json:"ca-file" desc:"certificates in PEM that sign those of the servers"`
	AutoCompact           time.Duration `json:"auto-compact" desc:"forget history that is older than this, again and again; 0 leaves that to the server"`
	ResyncAfterReconnect  bool          `json:"resync-after-reconnect" desc:"read everything and compare it with the southbound after each reconnect, instead of going on with the changes"`
	AllowDelayedStart     bool          `json:"allow-delayed-start" desc:"start without the server, and connect when it comes; false makes the start of the agent fail"`
	ReconnectInterval     time.Duration `json:"reconnect-interval" desc:"the longest pause between two attempts to connect"`
	SessionTTL            int           `json:"session-ttl" desc:"after how many seconds without this agent what it publishes for its lifetime goes away"`
	ExpandEnvVars         bool          `json:"expand-env-variables" desc:"replace $NAME and ${NAME} in values by variables of the environment"`
}

// minAutoCompact is what is shorter than what watchers of others may need.
const minAutoCompact = time.Hour

// DefaultConfig is what holds where the configuration file says nothing.
func DefaultConfig() Config {
	return Config{
		DialTimeout: time.Second, OperationTimeout: 3 * time.Second, AllowDelayedStart: true,
		ReconnectInterval: 2 * time.Second, SessionTTL: 5,
	}
}

// Validate says which keys have impossible values.
func (c Config) Validate() error {
	var errs []error
	for key, d := range map[string]time.Duration{
		"dial-timeout": c.DialTimeout, "operation-timeout": c.OperationTimeout, "reconnect-interval": c.ReconnectInterval,
	} {
		if d < time.Millisecond {
			errs = append(errs, fmt.Errorf("%s: %v: expected a duration such as 2s", key, d))
		}
	}
	if c.SessionTTL < 1 {
		errs = append(errs, fmt.Errorf("session-ttl: %d: expected at least 1 (seconds)", c.SessionTTL))
	}
	if c.AutoCompact < 0 || c.AutoCompact > 0 && c.AutoCompact < time.Second {
		errs = append(errs, fmt.Errorf("auto-compact: %v: expected 0, or at least 1s", c.AutoCompact))
	}
	for i, e := range c.Endpoints {
		if strings.TrimSpace(e) == "" {
			errs = append(errs, fmt.Errorf("endpoints[%d]: expected host:port", i))
		}
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, errors.New("cert-file, key-file: expected both or none"))
	}
	return errors.Join(errs...)
}

// endpoints are those to use.
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

// tls returns how to secure the connection; nil: not at all.
func (c Config) tls() (*tls.Config, error) {
	secured := c.CertFile != "" || c.CAFile != "" || c.InsecureSkipTLSVerify
	for _, e := range c.endpoints() {
		secured = secured || strings.HasPrefix(e, "https://")
	}
	if c.InsecureTransport || !secured {
		return nil, nil
	}
	return kv.TLS{CertFile: c.CertFile, KeyFile: c.KeyFile, CAFile: c.CAFile, SkipVerify: c.InsecureSkipTLSVerify}.Config()
}
