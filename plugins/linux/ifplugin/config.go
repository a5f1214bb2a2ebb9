package ifplugin

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
)

// Config is linux-ifplugin.conf.
type Config struct {
	Disabled bool `yaml:"disabled" desc:"leave the interfaces of Linux alone"`
	// WireguardGo is a path, or a name that is looked up in PATH.
	WireguardGo        string        `yaml:"wireguard-go" desc:"program wireguard-go, which serves interfaces of type WIREGUARD in the background if the kernel lacks the module; systemd ends it with the unit of the agent; empty: it is never started"`
	StatusPublishers   []string      `yaml:"status-publishers" desc:"names of the data stores that the state of interfaces is published to"`
	StatisticsInterval time.Duration `yaml:"statistics-interval" desc:"how often the counters of interfaces are published with their state, 0: never"`
	GoRoutinesCount    int           `yaml:"go-routines-count" desc:"accepted from existing configurations, without effect"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config { return Config{StatisticsInterval: 5 * time.Second, GoRoutinesCount: 10} }

// minStatisticsInterval keeps the agent from reading counters all the time.
const minStatisticsInterval = 100 * time.Millisecond

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.GoRoutinesCount >= 1, "go-routines-count: %d, expected 1 or more", c.GoRoutinesCount)
	check.Expect(c.StatisticsInterval == 0 || c.StatisticsInterval >= minStatisticsInterval,
		"statistics-interval: %s, expected 0, or at least %s", c.StatisticsInterval, minStatisticsInterval)
	return check.Err()
}
