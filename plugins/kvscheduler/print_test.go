package kvscheduler_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// Transactions are printed with their planned operations, as the documents show them,
// unless a configuration says otherwise.
func TestPlannedOperationsArePrinted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change          func(*kvscheduler.Config)
		planned, result bool
	}{
		"by default":                 {func(*kvscheduler.Config) {}, true, true},
		"enable-txn-simulation off":  {func(c *kvscheduler.Config) { c.EnableTxnSimulation = false }, false, true},
		"print-txn-summary off":      {func(c *kvscheduler.Config) { c.PrintTxnSummary = false }, false, false},
		"print-txn-summary off, too": {func(c *kvscheduler.Config) { c.PrintTxnSummary, c.EnableTxnSimulation = false, false }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := printed(t, tc.change, 1)
			for text, want := range map[string]bool{
				"* planned operations:\n      1. CREATE:\n          - key: tap/0\n": tc.planned,
				"* executed operations (": tc.result,
			} {
				if got := strings.Contains(out, text); got != want {
					t.Errorf("%q is printed: %v, expected %v; all that is printed:\n%s", text, got, want, out)
				}
			}
		})
	}
}

// Of many operations the first 1,000 are printed, and how many there are besides.
func TestPrintIsLimited(t *testing.T) {
	t.Parallel()
	out := printed(t, func(*kvscheduler.Config) {}, 1234)
	if n := strings.Count(out, "... and 234 more operations\n"); n != 2 {
		t.Errorf("%d lists of operations end with the number of the others, expected 2", n)
	}
	if n := strings.Count(out, "- key: tap/"); n != 3000 {
		t.Errorf("%d keys are printed, expected 1,000 values, planned and executed operations each", n)
	}
}

// printed returns what a scheduler prints of a transaction.
func printed(t *testing.T, change func(*kvscheduler.Config), values int) string {
	t.Helper()
	conf := kvscheduler.DefaultConfig()
	change(&conf)
	var out bytes.Buffer
	s := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(&out))
	agenttest.Start(t, s)
	if err := s.RegisterKVDescriptor(kvstest.NewMockSB().Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	items := map[string]*model.Item{}
	for i := range values {
		items[fmt.Sprint("tap/", i)] = &model.Item{}
	}
	if err := commit(t, s, items); err != nil {
		t.Fatal(err)
	}
	s.TransactionBarrier()
	return out.String()
}
