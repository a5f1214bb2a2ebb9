package rates_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/rates"
)

// TestSince checks that a counter that begins again is neither a negative rate nor a peak.
func TestSince(t *testing.T) {
	t.Parallel()
	before := rates.Counters{RxPackets: 100, TxPackets: 10, RxBits: 8000, TxBits: 800, Drops: 1, Errors: 2}
	for _, c := range []struct {
		name    string
		now     rates.Counters
		seconds float64
		want    rates.Interface
		known   bool
	}{
		{"counts", rates.Counters{120, 10, 9000, 800, 2, 2}, 2, rates.Interface{Name: "a", RxPackets: 10, RxBits: 500, Drops: 0.5}, true},
		{"one began again", rates.Counters{120, 9, 9000, 800, 1, 2}, 2, rates.Interface{}, false},
		{"all began again", rates.Counters{}, 2, rates.Interface{}, false},
		{"no time", before, 0, rates.Interface{}, false},
	} {
		got, known := c.now.Since(before, c.seconds, "a")
		if known != c.known || known && got != c.want {
			t.Errorf("%s: %+v %t, expected %+v %t", c.name, got, known, c.want, c.known)
		}
	}
	sum := rates.Interface{Name: "group", RxBits: 0.1}
	sum.Add(rates.Interface{Name: "a", RxBits: 0.2, Errors: 3})
	if want := (rates.Interface{Name: "group", RxBits: 0.3, Errors: 3}); sum != want {
		t.Errorf("the sum is %+v, expected %+v", sum, want)
	}
}
