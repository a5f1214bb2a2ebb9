package nftablesplugin

// Config is linux-nftablesplugin.conf.
type Config struct {
	Disabled bool `yaml:"disabled" desc:"leave nftables alone"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config { return Config{} }

// LeavesAlone reports whether the plugin is disabled.
func (c Config) LeavesAlone() bool { return c.Disabled }
