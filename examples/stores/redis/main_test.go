package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutput(t *testing.T) {
	conf := exampletest.File(t, "redis.conf", "endpoint: "+kvtest.Redis(t).Addr+"\ndial-timeout: 1m\nread-timeout: 1m\n")
	exampletest.Run(t, run, `there are 0 sessions
session ada: new
session ada: gone
`, "--redis-config", conf)
}

func TestWithoutConfiguration(t *testing.T) {
	exampletest.Run(t, run, "redis is disabled; give it a configuration with --redis-config FILE\n")
}
