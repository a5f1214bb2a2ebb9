package ifplugin

import (
	"fmt"
	"time"
)

// Config is vpp-ifplugin.conf.
type Config struct {
	MTU                uint32        `yaml:"mtu" desc:"MTU in bytes of interfaces that ask for none, 0: what VPP chooses"`
	StatusPublishers   []string      `yaml:"status-publishers" desc:"names of the data stores that the state of interfaces is published to"`
	StatisticsInterval time.Duration `yaml:"statistics-interval" desc:"how often the counters of interfaces are published with their state, 0: never"`
	LeaseInterval      time.Duration `yaml:"dhcp-lease-interval" desc:"how often DHCP leases are looked at, which VPP does not report the end of"`

	Stopwatch bool   `yaml:"stopwatch" desc:"no effect: metrics have the times of operations"`
	Strategy  string `yaml:"strategy" desc:"no effect: a synchronisation changes only what differs"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config {
	return Config{StatisticsInterval: 5 * time.Second, LeaseInterval: 10 * time.Second}
}

// maxMTU is the largest MTU that VPP accepts.
const maxMTU = 9216

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	if c.MTU > maxMTU {
		return fmt.Errorf("mtu: %d, expected 0 to %d", c.MTU, maxMTU)
	}
	if c.LeaseInterval <= 0 {
		return fmt.Errorf("dhcp-lease-interval: %s, expected more than 0", c.LeaseInterval)
	}
	if c.StatisticsInterval < 0 || c.StatisticsInterval > 0 && c.StatisticsInterval < 100*time.Millisecond {
		return fmt.Errorf("statistics-interval: %s, expected 0, or at least 100ms", c.StatisticsInterval)
	}
	return nil
}
