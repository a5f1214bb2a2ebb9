package kvstest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// policies are the ownership policies of a scenario, by key prefix.
type policies struct {
	mu    sync.Mutex
	rules []policyRule
}

type policyRule struct {
	prefix string
	policy registry.Policy
}

// of is a registry.Policies.
func (p *policies) of(_ *api.KVDescriptor, key string) registry.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		if key != "" && strings.HasPrefix(key, r.prefix) {
			return r.policy
		}
	}
	return registry.Managed
}

// cmdPolicy sets the ownership policy of the keys with a prefix, before they
// are used: policy managed|adopt|observe|ignore PREFIX.
func cmdPolicy(r *Run, args []string) (string, error) {
	if r.policies == nil || len(args) != 2 {
		return "", errors.New("expected POLICY PREFIX, in a mock world")
	}
	policy, ok := map[string]registry.Policy{
		"managed": registry.Managed, "adopt": registry.Adopt, "observe": registry.Observe, "ignore": registry.Ignore,
	}[args[0]]
	if !ok {
		return "", fmt.Errorf("policy %q: expected managed, adopt, observe or ignore", args[0])
	}
	r.policies.mu.Lock()
	defer r.policies.mu.Unlock()
	r.policies.rules = append([]policyRule{{args[1], policy}}, r.policies.rules...)
	return "", nil
}

// cmdJournal makes schedulers from the next restart on remember what they made;
// later it prints what is on record.
func cmdJournal(r *Run, _ []string) (string, error) {
	if r.journal == nil {
		r.journal = NewJournal()
		return "", nil
	}
	return strings.Join(r.journal.Keys(), "\n"), nil
}

// cmdOrphans prints what exists and is not desired. With keys it removes those.
func cmdOrphans(r *Run, keys []string) (string, error) {
	if len(keys) > 0 {
		_, err := r.Scheduler.RemoveOrphans(r.T.Context(), keys)
		var text strings.Builder
		text.WriteString(r.news(api.NBTransaction))
		r.printError(&text, err)
		return text.String(), nil
	}
	var b strings.Builder
	for _, o := range r.Scheduler.Orphans() {
		owner := "foreign"
		switch {
		case o.Ours:
			owner = "ours"
		case o.Marked:
			owner = "marked"
		}
		fmt.Fprintln(&b, strings.TrimSpace(o.Key+" "+owner+" "+o.Problem))
	}
	return b.String(), nil
}
