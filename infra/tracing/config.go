package tracing

import (
	"net/url"

	"github.com/tenuto-dev/tenuto/infra/config"
)

// The exporters.
const (
	ExporterNone   = "none"
	ExporterStdout = "stdout"
	ExporterOTLP   = "otlp"
)

// Config is tracing.conf.
type Config struct {
	Exporter string  `yaml:"exporter" desc:"destination of spans: none, stdout (as JSON), or otlp (to a collector, over HTTP)"`
	Endpoint string  `yaml:"endpoint" desc:"URL of the collector for otlp, such as http://127.0.0.1:4318; without a path /v1/traces is added"`
	Ratio    float64 `yaml:"ratio" desc:"fraction of the traces that is exported, from 0 to 1"`
}

// DefaultConfig returns the configuration without a file: no tracing.
func DefaultConfig() Config { return Config{Exporter: ExporterNone, Ratio: 1} }

// Validate returns the errors in a configuration.
func (c Config) Validate() error {
	var check config.Checks
	switch c.Exporter {
	case ExporterNone, ExporterStdout:
	case ExporterOTLP:
		u, err := url.Parse(c.Endpoint)
		check.Expect(err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"),
			"endpoint is %q: expected the URL of a collector, such as http://127.0.0.1:4318", c.Endpoint)
	default:
		check.Expect(false, "exporter is %q: expected none, stdout or otlp", c.Exporter)
	}
	check.Expect(c.Ratio >= 0 && c.Ratio <= 1, "ratio is %v: expected a number from 0 to 1", c.Ratio)
	return check.Err()
}
