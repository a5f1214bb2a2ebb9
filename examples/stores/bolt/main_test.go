package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutput(t *testing.T) {
	conf := exampletest.File(t, "bolt.conf", "db-path: "+filepath.Join(t.TempDir(), "bolt.db")+"\n")
	for n := range 3 {
		exampletest.Run(t, run, fmt.Sprintf("started %d times\n", n+1), "--bolt-config", conf)
	}
}

func TestWithoutConfiguration(t *testing.T) {
	exampletest.Run(t, run, "bolt is disabled; give it a configuration with --bolt-config FILE\n")
}
