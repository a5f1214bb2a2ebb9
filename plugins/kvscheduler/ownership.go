package kvscheduler

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// The ownership policies.
const (
	// OwnershipManaged: values are made, changed and removed as the northbound
	// wishes, whatever was there before. The default.
	OwnershipManaged = "managed"
	// OwnershipAdopt: an object that the agent did not make is taken over if it
	// equals the desired value or can be changed into it in place; otherwise the value
	// is FAILED and the object untouched. It is never removed, not even for a
	// moment, and when it is no longer wanted it is left as it is, with what is
	// derived from it. A transaction that is taken back restores of it what the wish
	// before asked for. What the
	// agent makes itself is managed. Which that was before a restart only the
	// state-dir reports: without one it counts as adopted.
	OwnershipAdopt = "adopt"
	// OwnershipObserve: nothing is ever made, changed or removed. A wanted value is
	// CONFIGURED while there is something under its key, whatever that is, and
	// PENDING else; other values may depend on it. It is looked at when the
	// southbound is read, and every ten seconds.
	OwnershipObserve = "observe"
	// OwnershipIgnore: what is there is not looked at, and a wanted value is
	// INVALID.
	OwnershipIgnore = "ignore"
)

// OwnershipRule is the policy for the values of a descriptor, or for those with
// a key prefix. Derived values follow the value that they are derived from.
type OwnershipRule struct {
	Descriptor string `yaml:"descriptor" desc:"name of a descriptor; either this or prefix"`
	Prefix     string `yaml:"prefix" desc:"beginning of keys; either this or descriptor"`
	Policy     string `yaml:"policy" desc:"managed, adopt, observe or ignore"`
}

func ownershipPolicy(name string) (p registry.Policy, ok bool) {
	p, ok = map[string]registry.Policy{
		OwnershipManaged: registry.Managed, OwnershipAdopt: registry.Adopt,
		OwnershipObserve: registry.Observe, OwnershipIgnore: registry.Ignore,
	}[name]
	return p, ok
}

func (c Config) validateOwnership() error {
	var check config.Checks
	seen := map[OwnershipRule]int{}
	for i, r := range c.Ownership {
		_, ok := ownershipPolicy(r.Policy)
		check.Expect(ok, "ownership[%d].policy is %q: expected %s, %s, %s or %s", i, r.Policy, OwnershipManaged, OwnershipAdopt, OwnershipObserve, OwnershipIgnore)
		if (r.Descriptor == "") == (r.Prefix == "") {
			check.Expect(false, "ownership[%d]: expected either descriptor or prefix", i)
			continue
		}
		what := OwnershipRule{Descriptor: r.Descriptor, Prefix: r.Prefix}
		first, twice := seen[what]
		check.Expect(!twice, "ownership[%d]: the same as ownership[%d]: expected one rule for %s%s", i, first, r.Descriptor, r.Prefix)
		seen[what] = i
	}
	return check.Err()
}

// policies is the table of the rules; nil if there are none.
func (c Config) policies() registry.Policies {
	if len(c.Ownership) == 0 {
		return nil
	}
	rules := c.Ownership
	return func(d *api.KVDescriptor, key string) registry.Policy {
		found, length, uniform := registry.Managed, -1, true
		for _, r := range rules {
			p, _ := ownershipPolicy(r.Policy) // it was validated
			switch {
			case r.Descriptor != "" && r.Descriptor == d.Name && length < 0:
				found = p
			case r.Prefix != "" && key == "":
				differs := strings.HasPrefix(r.Prefix, d.NBKeyPrefix) || strings.HasPrefix(d.NBKeyPrefix, r.Prefix)
				uniform = uniform && !differs
			case r.Prefix != "" && strings.HasPrefix(key, r.Prefix) && len(r.Prefix) > length:
				found, length = p, len(r.Prefix)
			}
		}
		if !uniform {
			return registry.Managed
		}
		return found
	}
}

// checkOwnership reports rules for descriptors that are not registered.
func (s *Scheduler) checkOwnership() error {
	var errs []error
	var names []string
	for i, r := range s.cfg.Ownership {
		if r.Policy == OwnershipAdopt && s.store == nil {
			s.Log.Warn("without a state-dir it is not known after a restart what the agent made itself: it counts as adopted, and is not removed",
				"rule", fmt.Sprintf("ownership[%d]", i))
		}
	}
	known := map[string]bool{}
	for _, d := range s.engine.ListDescriptors() {
		names = append(names, d.Name)
		known[d.Name] = true
	}
	for i, r := range s.cfg.Ownership {
		if r.Descriptor == "" || known[r.Descriptor] {
			continue
		}
		hint := "it has none"
		if near := suggest.Nearest(r.Descriptor, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		errs = append(errs, fmt.Errorf("ownership[%d].descriptor is %q: expected the name of a descriptor of this agent; %s", i, r.Descriptor, hint))
	}
	return errors.Join(errs...)
}
