package telemetry

import (
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
)

// What can be skipped.
const (
	Runtime    = "runtime"
	Memory     = "memory"
	Buffers    = "buffers"
	Nodes      = "nodes"
	Interfaces = "interfaces"
	ACLs       = "acls"
)

func groups() []string { return []string{Runtime, Memory, Buffers, Nodes, Interfaces, ACLs} }

const (
	defaultInterval = 30 * time.Second
	minInterval     = time.Second // this and less is taken for a mistake
)

// Config is telemetry.conf.
type Config struct {
	PollingInterval    time.Duration `yaml:"polling-interval" desc:"for how long what was read from VPP serves further scrapes; 1s or less: the default"`
	Disabled           bool          `yaml:"disabled" desc:"never read the stats segment of VPP"`
	PrometheusDisabled bool          `yaml:"prometheus-disabled" desc:"do not offer the metrics to Prometheus"`
	Skipped            []string      `yaml:"skipped" desc:"what to leave out: runtime, memory, buffers, nodes, interfaces, acls"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config { return Config{PollingInterval: defaultInterval} }

// Validate says what is wrong with a configuration.
func (c *Config) Validate() error {
	var check config.Checks
	check.Expect(c.PollingInterval >= 0, "polling-interval: %v, expected a time", c.PollingInterval)
	for i, s := range c.Skipped {
		check.Expect(slices.Contains(groups(), s), "skipped[%d]: %q, expected one of %s", i, s, strings.Join(groups(), ", "))
	}
	return check.Err()
}

// interval is how long a snapshot is good for.
func (c *Config) interval() time.Duration {
	if c.PollingInterval <= minInterval {
		return defaultInterval
	}
	return c.PollingInterval
}

// wanted reports whether a group of metrics is wanted.
func (c *Config) wanted(group string) bool { return !slices.Contains(c.Skipped, group) }
