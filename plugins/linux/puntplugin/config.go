package puntplugin

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
)

// Config is linux-puntplugin.conf.
type Config struct {
	Disabled    bool          `yaml:"disabled" desc:"run no proxies"`
	Sessions    int           `yaml:"sessions" desc:"most connections, or clients that send datagrams, of a proxy at a time; further connections wait, datagrams of further clients are dropped"`
	DialTimeout time.Duration `yaml:"dial-timeout" desc:"how long a connection to the other side may take"`
	Idle        time.Duration `yaml:"idle" desc:"how long a client that sends datagrams, and gets none, keeps its place"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config {
	return Config{Sessions: 1024, DialTimeout: 10 * time.Second, Idle: time.Minute}
}

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.Sessions >= 1, "sessions: %d, expected 1 or more", c.Sessions)
	check.Expect(c.DialTimeout > 0, "dial-timeout: %s, expected more than 0s", c.DialTimeout)
	check.Expect(c.Idle > 0, "idle: %s, expected more than 0s", c.Idle)
	return check.Err()
}
