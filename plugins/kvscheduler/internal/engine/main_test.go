package engine_test

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

// cases are run in "make test".
const cases = 10_000

// TestMain divides the random cases (-rapid.checks, or the number of "make
// test") among the shards. conditions reports the functions that are not nil.
type conditions struct {
	engine.NoConditions
	hanging    func([]exec.Call)
	violations func([]contract.Violation)
	problems   func(engine.Problems)
}

func (c *conditions) Hanging(calls []exec.Call) {
	if c.hanging != nil {
		c.hanging(calls)
	}
}

func (c *conditions) Violations(all []contract.Violation) {
	if c.violations != nil {
		c.violations(all)
	}
}

func (c *conditions) Problems(p engine.Problems) {
	if c.problems != nil {
		c.problems(p)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	checks, n := cases, shards()
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			checks, _ = strconv.Atoi(f.Value.String()) // the flag has checked it
		}
	})
	debug.SetGCPercent(800) // the cases allocate much and keep little
	if err := flag.Set("rapid.checks", strconv.Itoa((checks+n-1)/n)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}
