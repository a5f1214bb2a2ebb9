package iptablesplugin

// Config is linux-iptablesplugin.conf.
type Config struct {
	Disabled            bool `yaml:"disabled" desc:"leave the packet filters of Linux alone"`
	GoRoutinesCount     int  `yaml:"go-routines-count" desc:"accepted from existing configurations, without effect"`
	MinRuleCountForBulk int  `yaml:"min-rule-count-for-performance-handling" desc:"accepted from existing configurations, without effect: a change is always one iptables-restore"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config { return Config{GoRoutinesCount: 10, MinRuleCountForBulk: 10} }

// LeavesAlone reports whether the plugin is disabled.
func (c Config) LeavesAlone() bool { return c.Disabled }
