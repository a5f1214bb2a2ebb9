package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutput(t *testing.T) {
	conf := exampletest.File(t, "consul.conf", "address: "+kvtest.Consul(t).Addr+"\noperation-timeout: 1m\n")
	exampletest.Run(t, run, `10 counted to 100 together
a TTL of a second: consul: put /example/counter: a TTL of 1s: Consul has 10s to 24h0m0s: the store does not support this operation
`, "--consul-config", conf)
}

func TestWithoutConfiguration(t *testing.T) {
	exampletest.Run(t, run, "consul is disabled; give it a configuration with --consul-config FILE\n")
}
