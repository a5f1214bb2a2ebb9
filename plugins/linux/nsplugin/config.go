package nsplugin

import "fmt"

// Config is linux-nsplugin.conf.
type Config struct {
	Disabled        bool `yaml:"disabled" desc:"leave Linux alone; its items wait"`
	GoRoutinesCount int  `yaml:"go-routines-count" desc:"accepted from existing configurations, without effect"`
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
