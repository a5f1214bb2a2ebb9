package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
)

// wavesHelp describes --waves.
const wavesHelp = "how many agents have the revision after each wave: numbers or percentages, such as 1,10%,50%; " +
	"the last wave has the other agents"

// waves divides agents into waves; see wavesHelp. Waves that have no agents are left out.
func waves(agents []string, text string) (list [][]string, _ error) {
	given := 0
	add := func(until int) {
		if until > given {
			list, given = append(list, agents[given:until]), until
		}
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, percent, ok := share(part)
		if !ok {
			return nil, fmt.Errorf("--waves: %q, expected numbers of agents and percentages, such as 1,10%%,50%%", part)
		}
		if percent {
			n = (len(agents)*n + 99) / 100
		}
		add(min(n, len(agents)))
	}
	add(len(agents))
	return list, nil
}

// share reads a number of agents, or a percentage; ok is false if it is neither.
func share(text string) (n int, percent, ok bool) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	return n, percent, err == nil && n > 0 && !(percent && n > 100)
}

// maxUnavailable sets the limit of unavailable agents. A percentage is rounded down, but to 1 at least.
func maxUnavailable(s *rollout.Spec, text string, agents int) error {
	if text == "" {
		return nil
	}
	n, percent, ok := share(text)
	if !ok {
		return fmt.Errorf("--max-unavailable: %q, expected a number of agents or a percentage, such as 2 or 10%%", text)
	}
	if percent {
		n = max(1, agents*n/100)
	}
	s.MaxUnavailable = n
	if s.Atomic == rollout.AtomicAgent {
		return nil
	}
	for _, wave := range s.Waves {
		if needs := time.Duration((len(wave)+n-1)/n) * s.Soak; 4*needs > 3*s.ConfirmTimeout {
			return fmt.Errorf("--max-unavailable %s: a wave of %d agents, %d at a time with --soak %s, takes %s, expected at most three quarters of "+
				"--confirm-timeout (%s); use smaller waves, a longer timeout, or --each-alone", text, len(wave), n, s.Soak, needs, s.ConfirmTimeout)
		}
	}
	return nil
}
