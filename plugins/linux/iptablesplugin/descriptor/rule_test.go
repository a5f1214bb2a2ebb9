package descriptor

import (
	"slices"
	"testing"
)

func TestRules(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string][]string{
		"-i eth0  -j\tACCEPT":                        {"-i", "eth0", "-j", "ACCEPT"},
		`-m comment --comment "a 'b' \"c\"" -j DROP`: {"-m", "comment", "--comment", `a 'b' "c"`, "-j", "DROP"},
		`--log-prefix 'x "y" \ '`:                    {"--log-prefix", `x "y" \ `},
		`--comment "" -j DROP`:                       {"--comment", "", "-j", "DROP"},
		"":                                           nil,
		" ":                                          nil,
		`-m comment --comment "a`:                    nil,
		`-j DROP \`:                                  nil,
		"-j ACCEPT\n-A INPUT -j DROP":                nil,
	} {
		args, err := splitRule(rule)
		if !slices.Equal(args, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; expected %q", rule, args, err, want)
		}
		if err != nil {
			continue
		}
		if again, err := splitRule(joinRule(args)); !slices.Equal(args, again) || err != nil {
			t.Errorf("%q became %q: %v", args, again, err)
		}
	}
}
