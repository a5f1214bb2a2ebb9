// Package rates has what interfaces do per second, for responses.
package rates

import "math"

// Rates are the rates of interfaces, from the last two reads of their counters.
type Rates struct {
	// Up reports that counters could be read; Reason says why they could not.
	Up     bool   `json:"up"`
	Reason string `json:"reason,omitempty"`
	// Seconds is the time between the two reads; 0: there was one only, or the counters began again.
	Seconds    float64     `json:"seconds"`
	Interfaces []Interface `json:"interfaces"`
}

// Interface has what an interface does per second.
type Interface struct {
	Name      string  `json:"name"`
	RxPackets float64 `json:"rxPackets"`
	TxPackets float64 `json:"txPackets"`
	RxBits    float64 `json:"rxBits"`
	TxBits    float64 `json:"txBits"`
	Drops     float64 `json:"drops"`
	Errors    float64 `json:"errors"`
}

// Counters are what an interface has counted. Bits are counted as bits, not as bytes.
type Counters struct{ RxPackets, TxPackets, RxBits, TxBits, Drops, Errors uint64 }

// Since returns the rates of an interface since it had counted before, some seconds ago. They are unknown if
// a counter began again: that is no negative rate, and what it had before is no peak.
func (now Counters) Since(before Counters, seconds float64, name string) (r Interface, known bool) {
	known = seconds > 0
	rate := func(now, before uint64) float64 {
		if now < before {
			known = false
			return 0
		}
		return Rounded(float64(now-before) / seconds)
	}
	r = Interface{
		Name: name, RxPackets: rate(now.RxPackets, before.RxPackets), TxPackets: rate(now.TxPackets, before.TxPackets),
		RxBits: rate(now.RxBits, before.RxBits), TxBits: rate(now.TxBits, before.TxBits),
		Drops: rate(now.Drops, before.Drops), Errors: rate(now.Errors, before.Errors),
	}
	return r, known
}

// Add adds the rates of another interface.
func (r *Interface) Add(other Interface) {
	for _, sum := range []struct {
		of  *float64
		add float64
	}{
		{&r.RxPackets, other.RxPackets}, {&r.TxPackets, other.TxPackets}, {&r.RxBits, other.RxBits},
		{&r.TxBits, other.TxBits}, {&r.Drops, other.Drops}, {&r.Errors, other.Errors},
	} {
		*sum.of = Rounded(*sum.of + sum.add)
	}
}

// Rounded rounds to one decimal.
func Rounded(v float64) float64 { return math.Round(v*10) / 10 }
