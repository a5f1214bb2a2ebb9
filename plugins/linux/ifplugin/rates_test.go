package ifplugin

import (
	"errors"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rates"
)

// TestLiveRates checks that rates are those between two reads, and unknown if counters began again, after a pause,
// and after a failure.
func TestLiveRates(t *testing.T) {
	t.Parallel()
	var l live
	begin := time.Now()
	add := func(second, index int, packets uint64, err error) rates.Rates {
		now := &counted{at: begin.Add(time.Duration(second) * time.Second), err: err, interfaces: map[string]InterfaceCounters{}}
		if err == nil {
			now.interfaces["a"] = InterfaceCounters{Name: "a", Index: index, RXPackets: packets, RXBytes: 100 * packets, RXDropped: 1, TXErrors: packets}
		}
		l.add(now)
		return l.rates([]string{"a", "a", "unknown"})
	}
	for _, c := range []struct {
		name          string
		second, index int
		packets       uint64
		err           error
		want          float64 // packets per second; less than 0: unknown
	}{
		{"first", 0, 1, 1000, nil, -1}, {"second", 2, 1, 1020, nil, 10}, {"idle", 4, 1, 1020, nil, 0},
		{"began again", 6, 1, 5, nil, -1}, {"then", 8, 1, 25, nil, 10}, {"created again", 10, 2, 1_000_000, nil, -1},
		{"then", 12, 2, 1_000_040, nil, 20}, {"pause", 100, 2, 2_000_000, nil, -1}, {"then", 102, 2, 2_000_002, nil, 1},
		{"failure", 104, 2, 0, errors.New("no permission"), -1}, {"read again", 106, 2, 9_000_000, nil, -1},
	} {
		got := add(c.second, c.index, c.packets, c.err)
		if got.Up != (c.err == nil) || (got.Reason == "") != got.Up {
			t.Errorf("%s: up %t, %q", c.name, got.Up, got.Reason)
		}
		if c.want < 0 && len(got.Interfaces) > 0 {
			t.Errorf("%s: %+v, expected no rate", c.name, got.Interfaces)
		}
		want := rates.Interface{Name: "a", RxPackets: c.want, RxBits: 800 * c.want, Errors: c.want}
		if c.want >= 0 && (len(got.Interfaces) != 1 || got.Interfaces[0] != want) {
			t.Errorf("%s: %+v, expected %+v", c.name, got.Interfaces, want)
		}
	}
}
