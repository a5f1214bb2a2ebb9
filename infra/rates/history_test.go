package rates

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"
	"unsafe"
)

// The history has an hour of at most 2,000 interfaces, whatever comes and goes.
func TestHourIsBounded(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(ifaceHour{}) * MaxInterfaces; size > 12<<20 {
		t.Errorf("the history takes %d bytes, documented are 12 MB", size)
	}
	start := time.Unix(1_000_000, 0)
	var h Hour
	h.Begin(start)
	for i := range 2500 {
		h.Put(Interface{Name: fmt.Sprint("i", i)}, false)
	}
	if len(h.interfaces) != MaxInterfaces || h.omitted != 500 {
		t.Errorf("%d interfaces, %d omitted", len(h.interfaces), h.omitted)
	}
	for i := range 2 * Samples {
		h.Begin(start.Add(time.Duration(i+1) * SampleEvery))
		h.Put(Interface{Name: "new", RxPackets: float64(i)}, true)
	}
	if len(h.interfaces) != 1 || h.omitted != 0 {
		t.Errorf("an hour after all interfaces have gone: %d, %d omitted", len(h.interfaces), h.omitted)
	}
	var out History
	h.Fill(&out, []string{"new", "unknown"})
	if len(out.Series) != rateCount || len(out.Series[0].Values) != Samples || out.Series[0].Values[Samples-1] != 2*Samples-1 || !out.Until.Equal(start.Add(2*Samples*SampleEvery)) {
		t.Errorf("%d series until %v, expected %d of %d samples", len(out.Series), out.Until, rateCount, Samples)
	}
	if CheckNames(make([]string, 100)) != nil || CheckNames(make([]string, 101)) == nil {
		t.Error("a request has at most 100 names")
	}
}

// Unknown numbers are null, since JSON has no NaN.
func TestGapsAreNull(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Gapped{1.26, float32(math.NaN()), 3e9})
	if err != nil || string(text) != "[1.3,null,3000000000]" {
		t.Errorf("%s %v", text, err)
	}
}
