package govppmux

import (
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/binapi/memclnt"

	"github.com/tenuto-dev/tenuto/infra/config"
)

func TestRequestWaitsIfConfigured(t *testing.T) {
	t.Parallel()
	path := socket(t)
	p := start(t, path, func(c *Config) { c.RetryRequestCount, c.RetryRequestTimeout = 100, time.Second })
	done := make(chan error, 1)
	go func() {
		done <- p.Conn().Invoke(patient(t), &memclnt.ControlPing{}, &memclnt.ControlPingReply{})
	}()
	simulator(t, path)
	if err := <-done; err != nil {
		t.Errorf("request made before VPP came: %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	// A file as users of the predecessor have it.
	cfg, _, err := config.Load(config.Text("govpp", `
resync-after-reconnect: false
reply-timeout: 2s
binapi-socket-path: /tmp/api.sock
stats-socket-path: /tmp/stats.sock
connect-via-shm: false
shm-prefix: ""
retry-request-count: 3
retry-request-timeout: 500ms
retry-connect-count: 3
retry-connect-timeout: 1s
proxy-enabled: true
health-check-probe-interval: 1s
health-check-reply-timeout: 250ms
health-check-threshold: 1
trace-enabled: true
`), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if cfg.ResyncAfterReconnect || cfg.ReplyTimeout != 2*time.Second || cfg.HealthCheckThreshold != 1 || len(cfg.notes()) != 2 {
		t.Errorf("config %+v", cfg)
	}
	for text, want := range map[string]string{
		"connect-via-shm: true":      "connect-via-shm",
		"reply-timeout: 0s":          "reply-timeout",
		"health-check-threshold: 0":  "health-check-threshold",
		"max-requests: 100000":       "max-requests",
		"binapi-socket-path: ''":     "binapi-socket-path",
		"reply-timout: 1s":           "reply-timout",
		"retry-connect-timeout: -1s": "retry-connect-timeout",
	} {
		if _, _, err := config.Load(config.Text("govpp", text), DefaultConfig()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not name %s", text, err, want)
		}
	}
}

func TestConfigLint(t *testing.T) {
	t.Parallel()
	if err := config.Lint(DefaultConfig()); err != nil {
		t.Error(err)
	}
}
