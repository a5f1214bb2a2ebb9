package ifplugin

import (
	"fmt"
	"time"
)

// Config is vpp-ifplugin.conf.
type Config struct {
	MTU              uint32        `yaml:"mtu" desc:"MTU in bytes of interfaces that ask for none, 0: what VPP chooses"`
	StatusPublishers []string      `yaml:"status-publishers" desc:"names of the data stores that the state of interfaces is published to"`
	LeaseInterval    time.Duration `yaml:"dhcp-lease-interval" desc:"how often DHCP leases are looked at, which VPP does not tell the end of"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config { return Config{LeaseInterval: 10 * time.Second} }

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
	return nil
}
