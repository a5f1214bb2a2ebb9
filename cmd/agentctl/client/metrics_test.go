package client

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMetrics(t *testing.T) {
	t.Parallel()
	got, err := parseMetrics(strings.NewReader(`# HELP b_seconds how long
# TYPE b_seconds histogram
b_seconds_bucket{le="1"} 2
b_seconds_bucket{le="+Inf"} 3
b_seconds_sum 4.5
b_seconds_count 3
# TYPE a_total counter
a_total{y="2",x="} \" {"} 1 1700000000000

# a comment
plain 7
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Metric{
		{Name: "a_total", Type: "counter", Samples: []Sample{{"a_total", `{x="} \" {",y="2"}`, "1"}}},
		{Name: "b_seconds", Type: "histogram", Help: "how long", Samples: []Sample{
			{"b_seconds_bucket", `{le="1"}`, "2"}, {"b_seconds_bucket", `{le="+Inf"}`, "3"},
			{Name: "b_seconds_sum", Value: "4.5"}, {Name: "b_seconds_count", Value: "3"},
		}},
		{Name: "plain", Type: "untyped", Samples: []Sample{{Name: "plain", Value: "7"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseMalformedMetrics(t *testing.T) {
	t.Parallel()
	if got, err := parseMetrics(strings.NewReader("a 1\nbroken{x=\"\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v, error %v, expected an error that names line 2", got, err)
	}
}
