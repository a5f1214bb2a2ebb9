package vpptest_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

// A plan names two items that VPP cannot have together.
func TestPlansNameConflicts(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, i := range items(t) {
		for _, c := range i.Conflicts {
			if strings.Contains(c.Part, "/address/") {
				continue // addresses that overlap are found by a constraint
			}
			if strings.Contains(c.Says, "master") {
				continue // two memifs on one socket, which are different objects
			}
			t.Run(i.Name, func(t *testing.T) {
				b := vpptest.Start(t, vpptest.Simulator(t, simOptions()), vpptest.Quiet())
				announceHosts(t, b)
				first, second := of(c.First), of(c.Second)
				txn := b.Scheduler.StartNBTransaction()
				all := maps.Clone(i.Needed())
				maps.Copy(all, catalogue.Values(c.Needs...))
				maps.Copy(all, first)
				maps.Copy(all, second)
				for key, v := range all {
					txn.SetValue(key, v)
				}
				plan, err := txn.Plan(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if len(plan.Conflicts) == 0 {
					t.Errorf("no conflict between %s and %s", c.First, c.Second)
				}
			})
			tried++
		}
	}
	if tried < 5 && *oneItem == "" {
		t.Errorf("only %d conflicts", tried)
	}
}
