package kvscheduler

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
)

// The policies of drift-repair.
const (
	// DriftReport only reports the drifts of the periodic detection.
	DriftReport = "report"
	// DriftRepair repairs it as well.
	DriftRepair = "repair"
)

// minDriftInterval keeps a typo from making the agent read all the time.
const minDriftInterval = time.Second

func (c Config) validateDrift() error {
	var check config.Checks
	check.Expect(c.DriftDetectionInterval == 0 || c.DriftDetectionInterval >= minDriftInterval,
		"drift-detection-interval: expected 0 (never) or at least %v", minDriftInterval)
	policy := func(field, name string) { // nothing is the default
		check.Expect(name == "" || name == DriftReport || name == DriftRepair, "%s is %q: expected %s or %s", field, name, DriftReport, DriftRepair)
	}
	policy("drift-repair", c.DriftRepair)
	for _, name := range slices.Sorted(maps.Keys(c.DriftRepairFor)) {
		policy("drift-repair-for."+name, c.DriftRepairFor[name])
	}
	return check.Err()
}

// repairs decides about a drift that a detection found: without a policy it is only
// reported.
func (c Config) repairs(d *api.Drift) bool { return c.policyFor(d.Descriptor, d.Key) == DriftRepair }

// repairsLost decides about a value that the southbound reported as lost: without a
// policy it is repaired.
func (c Config) repairsLost(descriptor, key string) bool {
	return c.policyFor(descriptor, key) != DriftReport
}

// policyFor returns the policy for a value: the longest key prefix wins, then the name
// of the descriptor, then the general policy.
func (c Config) policyFor(descriptor, key string) string {
	policy, best := c.DriftRepair, -1
	if p, ok := c.DriftRepairFor[descriptor]; ok {
		policy = p
	}
	for prefix, p := range c.DriftRepairFor {
		if strings.Contains(prefix, "/") && strings.HasPrefix(key, prefix) && len(prefix) > best {
			policy, best = p, len(prefix)
		}
	}
	return policy
}

func (c Config) drift() engine.DriftOptions {
	return engine.DriftOptions{Interval: c.DriftDetectionInterval, Repair: c.repairs}
}
