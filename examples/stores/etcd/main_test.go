package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutput(t *testing.T) {
	conf := exampletest.File(t, "etcd.conf", "endpoints: ["+kvtest.Etcd(t).Addr+"]\ndial-timeout: 1m\noperation-timeout: 1m\nsession-ttl: 60\n")
	exampletest.Run(t, run, `one agent leads: true, the other one: false
the leader is "one"
moved at once: /example/b = from a
what happened since:
  put /example/a
  delete /example/a
  put /example/b
`, "--etcd-config", conf)
}

func TestWithoutConfiguration(t *testing.T) {
	exampletest.Run(t, run, "etcd is disabled; give it a configuration with --etcd-config FILE\n")
}
