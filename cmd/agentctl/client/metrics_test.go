package client

import (
	"reflect"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	t.Parallel()
	got := parseMetrics(`# HELP b_seconds how long
# TYPE b_seconds histogram
b_seconds_bucket{le="1"} 2
b_seconds_bucket{le="+Inf"} 3
b_seconds_sum 4.5
b_seconds_count 3
# TYPE a_total counter
a_total{x="} \" {",y="2"} 1 1700000000000

# a comment
plain 7
broken{x="
{} 1
alone
`)
	want := []Metric{
		{Name: "a_total", Type: "counter", Samples: []Sample{{"a_total", `{x="} \" {",y="2"}`, "1"}}},
		{Name: "b_seconds", Type: "histogram", Help: "how long", Samples: []Sample{
			{"b_seconds_bucket", `{le="1"}`, "2"}, {"b_seconds_bucket", `{le="+Inf"}`, "3"},
			{Name: "b_seconds_sum", Value: "4.5"}, {Name: "b_seconds_count", Value: "3"}}},
		{Name: "plain", Type: "untyped", Samples: []Sample{{Name: "plain", Value: "7"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add("# TYPE a counter\na{x=\"}\"} 1\n")
	f.Add("a_sum{} \\ 1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMetrics(text) {
			if m.Name == "" {
				t.Errorf("a metric has no name: %+v", m)
			}
			for _, s := range m.Samples {
				if s.Name == "" || s.Value == "" {
					t.Errorf("%s: %+v", m.Name, s)
				}
			}
		}
	})
}
