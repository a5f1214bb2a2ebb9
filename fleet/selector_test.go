package fleet_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/fleet"
)

func TestParseSelector(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "  ": "",
		"site=paris,role!=core,role in (a,b),!old,rack": "site=paris,role notin (core),role in (a,b),!old,rack",
		" site == paris , rack notin ( a , b ) ":        "site=paris,rack notin (a,b)",
		"a=1,a=2":                                       "a=1,a in (2)",
		"a=":                                            "a=",
		"example.com/site in (x)":                       "example.com/site=x",
		"! old":                                         "!old",
		"a=1,,b":                                        `ERROR "": expected a condition such as site=paris, role!=core, rack in (a,b), rack notin (a,b), spare or !spare`,
		"site paris":                                    `ERROR "site paris": expected a condition such as site=paris, role!=core, rack in (a,b), rack notin (a,b), spare or !spare`,
		"site=pa ris":                                   `ERROR "pa ris": expected at most 63 letters, digits, '-', '_' and '.', with a letter or a digit at both ends`,
		"=x":                                            `ERROR "": expected a name of letters, digits, '-', '_' and '.', such as site or example.com/site`,
		"-a":                                            `ERROR "-a": expected a name of letters, digits, '-', '_' and '.', such as site or example.com/site`,
		"rack in (a":                                    `ERROR "rack in (a": expected a condition such as site=paris, role!=core, rack in (a,b), rack notin (a,b), spare or !spare`,
	} {
		s, err := fleet.ParseSelector(text)
		got := s.String()
		if err != nil {
			got = "ERROR " + err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, expected %s", text, got, want)
		}
	}
}

func TestSelectorMatches(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"site": "paris", "rack": "a"}
	for text, want := range map[string]bool{
		"": true, "site=paris": true, "site=rome": false, "none=x": false, "site!=rome": true, "none!=x": true, "site!=paris": false,
		"rack in (a,b)": true, "rack in (b,c)": false, "rack notin (b)": true, "rack notin (a)": false, "rack": true, "none": false, "!none": true, "!rack": false,
		"site=paris,rack=b": false, "site=paris,rack=a,!old": true,
	} {
		s, err := fleet.ParseSelector(text)
		if err != nil || s.Matches(labels) != want {
			t.Errorf("%q: %v, %v, expected %v", text, s.Matches(labels), err, want)
		}
	}
}

// A selector that is written as text selects the same.
func TestSelectorText(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"a", "b", "c-1"})
	rapid.Check(t, func(t *rapid.T) {
		s := fleet.Selector{MatchLabels: rapid.MapOf(word, word).Draw(t, "labels")}
		for range rapid.IntRange(0, 3).Draw(t, "requirements") {
			r := fleet.Requirement{Key: word.Draw(t, "key"), Operator: rapid.SampledFrom([]fleet.Operator{fleet.In, fleet.NotIn, fleet.Exists, fleet.DoesNotExist}).Draw(t, "operator")}
			if r.Operator == fleet.In || r.Operator == fleet.NotIn {
				r.Values = rapid.SliceOfN(word, 1, 3).Draw(t, "values")
			}
			s.MatchExpressions = append(s.MatchExpressions, r)
		}
		again, err := fleet.ParseSelector(s.String())
		if err != nil {
			t.Fatal(err)
		}
		labels := rapid.MapOf(word, word).Draw(t, "of an agent")
		if again.Matches(labels) != s.Matches(labels) {
			t.Errorf("%s and %s select different agents", s, again)
		}
	})
}
