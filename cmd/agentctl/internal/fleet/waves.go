package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// wavesHelp describes --waves.
const wavesHelp = "how many agents have the revision after each wave: numbers or percentages, such as 1,10%,50%; " +
	"the last wave has the other agents"

// waves divides agents into waves; see wavesHelp. Waves that have no agents are left out.
func waves(agents []string, text string) (list [][]string, err error) {
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
		number, percent := strings.CutSuffix(part, "%")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || percent && n > 100 {
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
