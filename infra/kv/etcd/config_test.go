package etcd_test

import (
	"context"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestVariables(t *testing.T) {
	t.Setenv("TENUTO_TEST_VALUE", "from the environment")
	s := kvtest.Etcd(t)
	t.Setenv("ETCD_ENDPOINTS", " , "+s.Addr)
	for _, expand := range []bool{true, false} {
		cfg := conf(s.Addr)
		cfg.Endpoints, cfg.ExpandEnvVars = nil, expand
		p, _ := connect(t, cfg)
		put(t, p, `v={"name": "$TENUTO_TEST_VALUE"}`)
		values := make(chan kv.Value, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- p.Watch(ctx, "/p/", func(u kv.Update) error { values <- u.Changes[0].Value; return nil })
		}()
		_, expanding := (<-values).(kv.Expanding)
		if expanding != expand {
			t.Errorf("expand-env-variables %v: values are expanded %v", expand, expanding)
		}
		cancel()
		<-ended
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(etcd.DefaultConfig()); err != nil {
		t.Error(err)
	}
	newPlugin := func() kvtest.Plugin { return etcd.NewPlugin() }
	kvtest.Configuration(t, newPlugin, map[string]string{
		"":                               "",
		"endpoints: ['']":                "endpoints[0]",
		"dial-timeout: 0":                "dial-timeout",
		"operation-timeout: -1s":         "operation-timeout",
		"watch-timeout: 1ms":             "watch-timeout: 1ms: expected at least 100ms",
		"reconnect-interval: 0s":         "reconnect-interval",
		"session-ttl: 0":                 "session-ttl",
		"auto-compact: 1ms":              "auto-compact",
		"cert-file: x":                   "expected both",
		"endpoint: x":                    "endpoints",
		"insecure-transport: true\n":     "",
		"endpoints: [https://127.0.0.1]": "",
	})
}
