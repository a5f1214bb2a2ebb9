package nsplugin

// Config is linux-nsplugin.conf.
type Config struct {
	// Disabled leaves the network namespaces of Linux alone; items of Linux
	// wait.
	Disabled bool `json:"disabled"`
	// GoRoutinesCount is accepted from existing configurations. Access to
	// namespaces needs no goroutines of its own.
	GoRoutinesCount int `json:"go-routines-count"`
}

// DefaultConfig is what holds where the file says nothing.
func DefaultConfig() Config { return Config{GoRoutinesCount: 10} }
