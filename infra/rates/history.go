package rates

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
)

// The history has the last hour. An interface takes 6 kB, so all of them take at most 12 MB.
const (
	// SampleEvery is the default time between two samples.
	SampleEvery = 15 * time.Second
	// Samples is the number of samples that are kept.
	Samples = 240
	// MaxInterfaces is the number of interfaces with a history.
	MaxInterfaces = 2000
	// maxAsked is the number of interfaces in one response with histories.
	maxAsked = 100
)

// History is how values changed in the last hour.
type History struct {
	Up     bool   `json:"up"`
	Reason string `json:"reason,omitempty"`
	// Until is the time of the last sample, and Every the seconds between two of them.
	Until time.Time `json:"until,omitzero"`
	Every float64   `json:"every"`
	// Series are the values, the oldest first.
	Series []Series `json:"series"`
	// Omitted is the number of interfaces without a history, because there are too many.
	Omitted int `json:"omitted,omitempty"`
}

// Series is a value over time: a rate of an interface per second, or a value of VPP.
type Series struct {
	Interface string `json:"interface,omitempty"`
	Name      string `json:"name"`
	// Values are null where the value is unknown: the counters could not be read, or began again.
	Values Gapped `json:"values"`
}

// Gapped are numbers, NaN where one is unknown.
type Gapped []float32

// MarshalJSON writes null for an unknown number.
func (g Gapped) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range g {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(float64(v)) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, math.Round(float64(v)*10)/10, 'f', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// Unknown is a gap.
var Unknown = float32(math.NaN())

// rateNames are the names of the rates in series.
var rateNames = [...]string{"rxPackets", "txPackets", "rxBits", "txBits", "drops", "errors"}

// rateCount is the number of rates of an interface.
const rateCount = len(rateNames)

func (r Interface) values() [rateCount]float32 {
	return [rateCount]float32{float32(r.RxPackets), float32(r.TxPackets), float32(r.RxBits), float32(r.TxBits), float32(r.Drops), float32(r.Errors)}
}

// Sample calls f at an interval until ctx ends.
func Sample(ctx context.Context, every time.Duration, f func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

// Ring has a value for each sample of an Hour.
type Ring [Samples]float32

// Hour has the rates of interfaces in the last hour, in rings that share a position. Callers serialize the calls.
type Hour struct {
	times      [Samples]time.Time
	next       int // position of the next sample
	interfaces map[string]*ifaceHour
	omitted    int // interfaces beyond the limit
}

// ifaceHour has the rates of an interface.
type ifaceHour struct {
	values [rateCount]Ring
	seen   time.Time
}

func (f *ifaceHour) put(i int, r [rateCount]float32) {
	for k, v := range r {
		f.values[k][i] = v
	}
}

// Begin begins a sample and returns its position in rings. The rates of all interfaces are gaps in it until
// Put. It forgets interfaces without a Put for an hour.
func (h *Hour) Begin(at time.Time) (position int) {
	i := h.next
	h.next = (h.next + 1) % Samples
	h.times[i] = at
	for name, of := range h.interfaces {
		if at.Sub(of.seen) > Samples*SampleEvery {
			delete(h.interfaces, name)
		}
		of.put(i, [rateCount]float32{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown})
	}
	h.omitted = 0
	return i
}

// Put adds the rates of an interface to the sample that Begin began; as a gap unless they are known.
func (h *Hour) Put(r Interface, known bool) {
	i := (h.next + Samples - 1) % Samples
	of := h.interfaces[r.Name]
	if of == nil {
		if len(h.interfaces) >= MaxInterfaces {
			h.omitted++
			return
		}
		of = &ifaceHour{}
		for r := range of.values {
			for k := range of.values[r] {
				of.values[r][k] = Unknown
			}
		}
		if h.interfaces == nil {
			h.interfaces = map[string]*ifaceHour{}
		}
		h.interfaces[r.Name] = of
	}
	of.seen = h.times[i]
	if known {
		of.put(i, r.values())
	}
}

// InOrder returns the values of a ring, the oldest first.
func (h *Hour) InOrder(ring *Ring) (values Gapped) {
	for i := range Samples {
		if at := (h.next + i) % Samples; !h.times[at].IsZero() {
			values = append(values, ring[at])
		}
	}
	return values
}

// Fill adds the series of interfaces to a response, with the time of the last sample.
func (h *Hour) Fill(out *History, names []string) {
	out.Until, out.Omitted = h.times[(h.next+Samples-1)%Samples], h.omitted
	for _, name := range names {
		if of := h.interfaces[name]; of != nil {
			for r := range of.values {
				out.Series = append(out.Series, Series{Interface: name, Name: rateNames[r], Values: h.InOrder(&of.values[r])})
			}
		}
	}
}

// CheckNames returns an error if a request asks for too many interfaces.
func CheckNames(names []string) error {
	if len(names) > maxAsked {
		return fmt.Errorf("parameter interface: %d names, expected at most %d", len(names), maxAsked)
	}
	return nil
}
