package telemetry

import (
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
)

// maxRules is how many rules have series at most: a VPP may have millions.
const maxRules = 10_000

// ruleStats are the packets that a rule of an access control list matched.
type ruleStats struct {
	list string
	rule int // from 0
	statseg.Count
}

// readRules reads the counters of the rules that matched packets, up to
// maxRules of them. VPP keeps the counters of deleted lists, which have no
// name.
func (s *snapshot) readRules(d *statseg.Directory, rules ACLRules) error {
	if rules == nil {
		return nil
	}
	for e := range d.All() {
		list, ok := listOf(e)
		if !ok {
			continue
		}
		if _, _, known := rules.ACLRule(list, 0); !known {
			continue
		}
		threads, err := d.Combined(e.Name)
		if err != nil {
			return err
		}
		positions := 0
		for _, counts := range threads {
			positions = max(positions, len(counts))
		}
		for position := range positions {
			if sum := sumCounts(threads, position); sum.Packets > 0 {
				s.addRule(rules, list, position, sum)
			}
		}
	}
	return nil
}

// listOf returns the list whose counters an entry has.
func listOf(e statseg.Entry) (index uint32, ok bool) {
	number, prefixed := strings.CutPrefix(e.Name, "/acl/")
	number, ok = strings.CutSuffix(number, "/matches")
	if !prefixed || !ok || e.Kind != statseg.Combined {
		return 0, false
	}
	n, err := strconv.ParseUint(number, 10, 32)
	return uint32(n), err == nil
}

// addRule adds what a rule of VPP matched to the rule of the configuration.
func (s *snapshot) addRule(rules ACLRules, list uint32, position int, sum statseg.Count) {
	name, rule, ok := rules.ACLRule(list, position)
	if !ok {
		return
	}
	if last := len(s.rules) - 1; last >= 0 && s.rules[last].list == name && s.rules[last].rule == rule {
		s.rules[last].Packets += sum.Packets
		s.rules[last].Bytes += sum.Bytes
		return
	}
	if len(s.rules) < maxRules {
		s.rules = append(s.rules, ruleStats{name, rule, sum})
	}
}
