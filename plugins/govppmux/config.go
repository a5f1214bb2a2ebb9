package govppmux

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// Config is the content of govpp.conf.
type Config struct {
	BinAPISocketPath string `yaml:"binapi-socket-path" desc:"unix socket of VPP's binary API"`
	StatsSocketPath  string `yaml:"stats-socket-path" desc:"unix socket of VPP's stats segment"`

	ReplyTimeout         time.Duration `yaml:"reply-timeout" desc:"the session ends when a request waits and VPP answers nothing at all for this long; the next one begins with a resync when VPP answers again"`
	RetryRequestCount    int           `yaml:"retry-request-count" desc:"how often a request waits for a VPP that is not connected before it fails"`
	RetryRequestTimeout  time.Duration `yaml:"retry-request-timeout" desc:"how long each of these waits takes"`
	RetryConnectCount    int           `yaml:"retry-connect-count" desc:"after this many attempts without success the health is ERROR, 0: never; the agent continues to connect"`
	RetryConnectTimeout  time.Duration `yaml:"retry-connect-timeout" desc:"longest pause between two attempts to connect"`
	ResyncAfterReconnect bool          `yaml:"resync-after-reconnect" desc:"resynchronise also with a VPP that seems to be the same process as before"`

	HealthCheckProbeInterval time.Duration `yaml:"health-check-probe-interval" desc:"time between two checks that VPP answers, 0: never"`
	HealthCheckReplyTimeout  time.Duration `yaml:"health-check-reply-timeout" desc:"a check fails when VPP sends nothing at all for this long"`
	HealthCheckThreshold     int           `yaml:"health-check-threshold" desc:"reconnect after this many failed checks in a row"`

	StrictCompat bool `yaml:"strict-compat" desc:"refuse a VPP that has no usable message for some operation of the agent; without it, values that need that operation are UNIMPLEMENTED"`

	MaxRequests int `yaml:"max-requests" desc:"requests in flight at a time"`
	MaxBytes    int `yaml:"max-bytes" desc:"bytes of requests in flight at a time"`

	ConnectViaShm bool   `yaml:"connect-via-shm" desc:"must be false: the shared-memory transport was removed from VPP clients"`
	ShmPrefix     string `yaml:"shm-prefix" desc:"no effect, see connect-via-shm"`
	ProxyEnabled  bool   `yaml:"proxy-enabled" desc:"no effect: remote commands go through POST /vpp/command"`
	TraceEnabled  bool   `yaml:"trace-enabled" desc:"no effect: set the level of the logger govpp to debug"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config {
	return Config{
		BinAPISocketPath: binapi.DefaultSocket,
		StatsSocketPath:  "/run/vpp/stats.sock",
		// VPP's main thread may be silent for seconds when it creates interfaces or
		// runs long commands, and a new session would only cost a resync.
		ReplyTimeout:         5 * time.Second,
		RetryRequestTimeout:  500 * time.Millisecond,
		RetryConnectTimeout:  time.Second,
		ResyncAfterReconnect: true,

		HealthCheckProbeInterval: time.Second,
		HealthCheckReplyTimeout:  250 * time.Millisecond,
		HealthCheckThreshold:     5,

		MaxRequests: binapi.DefaultMaxRequests,
		MaxBytes:    binapi.DefaultMaxBytes,
	}
}

// Validate reports values out of range.
func (c *Config) Validate() error {
	var check config.Checks
	check.Expect(c.BinAPISocketPath != "", "binapi-socket-path: expected a path")
	check.Expect(c.ReplyTimeout > 0, "reply-timeout: %v, expected more than 0", c.ReplyTimeout)
	check.Expect(c.RetryRequestCount >= 0, "retry-request-count: %d, expected 0 or more", c.RetryRequestCount)
	check.Expect(c.RetryRequestTimeout >= 0, "retry-request-timeout: %v, expected 0 or more", c.RetryRequestTimeout)
	check.Expect(c.RetryConnectCount >= 0, "retry-connect-count: %d, expected 0 or more", c.RetryConnectCount)
	check.Expect(c.RetryConnectTimeout > 0, "retry-connect-timeout: %v, expected more than 0", c.RetryConnectTimeout)
	check.Expect(c.HealthCheckProbeInterval >= 0, "health-check-probe-interval: %v, expected 0 or more", c.HealthCheckProbeInterval)
	check.Expect(c.HealthCheckReplyTimeout > 0, "health-check-reply-timeout: %v, expected more than 0", c.HealthCheckReplyTimeout)
	check.Expect(c.HealthCheckThreshold > 0, "health-check-threshold: %d, expected 1 or more", c.HealthCheckThreshold)
	check.Expect(c.MaxRequests > 0 && c.MaxRequests <= 1<<16, "max-requests: %d, expected 1 to 65536", c.MaxRequests)
	check.Expect(c.MaxBytes > 0, "max-bytes: %d, expected more than 0", c.MaxBytes)
	check.Expect(!c.ConnectViaShm, "connect-via-shm: expected false: VPP is reached over binapi-socket-path")
	return check.Err()
}

// note is a setting that is accepted for the sake of existing files.
type note struct{ key, reason string }

func (c *Config) notes() []note {
	var ns []note
	if c.ShmPrefix != "" {
		ns = append(ns, note{"shm-prefix", "VPP is reached over binapi-socket-path"})
	}
	if c.ProxyEnabled {
		ns = append(ns, note{"proxy-enabled", "remote commands go through POST /vpp/command"})
	}
	if c.TraceEnabled {
		ns = append(ns, note{"trace-enabled", "set the level of this logger to debug"})
	}
	return ns
}

// clientOptions are the settings of the connection.
func (c *Config) clientOptions(name string) binapi.Options {
	return binapi.Options{
		Socket: c.BinAPISocketPath, ClientName: name, ReplyTimeout: c.ReplyTimeout,
		MaxRequests: c.MaxRequests, MaxBytes: c.MaxBytes,
	}
}
