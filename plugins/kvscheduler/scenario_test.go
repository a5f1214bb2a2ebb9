package kvscheduler_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

// Rewrites the expected outputs in testdata/*.txtar; read by kvstest.
var _ = flag.Bool("update", false, "rewrite the expected outputs of scenarios")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The behaviour of the scheduler, one file for every story.
func TestScenarios(t *testing.T) {
	t.Parallel()
	kvstest.RunScripts(t, "testdata/*.txtar", kvstest.MockWorld)
}
