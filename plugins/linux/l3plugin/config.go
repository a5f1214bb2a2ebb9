package l3plugin

// Config is linux-l3plugin.conf.
type Config struct {
	// Disabled leaves the routes and neighbours of Linux alone.
	Disabled bool `json:"disabled"`
	// GoRoutinesCount is accepted from existing configurations. Namespaces are
	// read one after the other.
	GoRoutinesCount int `json:"go-routines-count"`
}

// DefaultConfig is what holds where the file says nothing.
func DefaultConfig() Config { return Config{GoRoutinesCount: 10} }
