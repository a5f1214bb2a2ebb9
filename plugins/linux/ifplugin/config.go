package ifplugin

import "fmt"

// Config is linux-ifplugin.conf.
type Config struct {
	Disabled bool `yaml:"disabled" desc:"leave the interfaces of Linux alone"`
	// WireguardGo is a path, or a name that is looked up in PATH.
	WireguardGo     string `yaml:"wireguard-go" desc:"program wireguard-go, which serves interfaces of type WIREGUARD in the background if the kernel lacks the module; systemd ends it with the unit of the agent; empty: it is never started"`
	GoRoutinesCount int    `yaml:"go-routines-count" desc:"accepted from existing configurations, without effect"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config { return Config{GoRoutinesCount: 10} }

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	if c.GoRoutinesCount < 1 {
		return fmt.Errorf("go-routines-count: %d, expected 1 or more", c.GoRoutinesCount)
	}
	return nil
}
