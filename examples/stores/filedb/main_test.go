package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutput(t *testing.T) {
	text, err := os.ReadFile("network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	network := exampletest.File(t, "network.yaml", string(text))
	out := exampletest.Start(t, run, "--filedb-config", exampletest.File(t, "filedb.conf", "configuration-paths: ["+network+"]\n"))
	const first = `there are 2 items:
  config/vpp/v2/interfaces/loop1 (network.yaml:4): enabled:true
  config/vpp/v2/interfaces/loop2 (network.yaml:7): enabled:false
`
	out.Await(t, first)
	exampletest.File(t, network, string(text)+"    enabled: true\n")
	const second = "  config/vpp/v2/interfaces/loop2 (network.yaml:7): enabled:true\n"
	out.Await(t, second)
	exampletest.File(t, network, string(text)+"    enabledd: true\n") // changes nothing
	exampletest.File(t, network, strings.ReplaceAll(string(text), "loop2", "loop3"))
	out.Await(t, "loop2 is gone\n")
	if got := out.String(); strings.Count(got, "loop2") != 3 {
		t.Errorf("the mistake had an effect:\n%s", got)
	}
}

func TestWithoutConfiguration(t *testing.T) {
	exampletest.Run(t, run, "filedb is disabled; give it a configuration with --filedb-config FILE\n")
}
