package telemetry

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rates"
)

// vppValue is the index of a value of VPP.
type vppValue int

const (
	vectorRate vppValue = iota
	inputRate
	buffersUsed
	heapUsed
	vppValues
)

// vppNames are the names of the values in responses. Buffers and heap are in percent.
var vppNames = [vppValues]string{"vectorRate", "inputRate", "buffersUsed", "heapUsed"}

// mainHeap is VPP's name of its largest heap.
const mainHeap = "main heap"

// point is what VPP had counted at a time.
type point struct {
	at         time.Time
	boot       uint64 // when VPP started; 0: unknown
	interfaces map[string]rates.Counters
	noBuffer   uint64 // packets that no buffer was there for
}

// pointOf returns the counters in the outcome of a read; nil if it failed.
func pointOf(s readState) *point {
	if s.snapshot == nil {
		return nil
	}
	p := &point{at: s.at, interfaces: map[string]rates.Counters{}}
	for _, v := range s.snapshot.system {
		if v.name == "boot_time_seconds" {
			p.boot = v.value
		}
	}
	for i := range s.snapshot.interfaces {
		itf := &s.snapshot.interfaces[i]
		var c rates.Counters
		for _, v := range itf.counters {
			switch v.name {
			case "rx_packets":
				c.RxPackets = v.value
			case "tx_packets":
				c.TxPackets = v.value
			case "rx_bytes":
				c.RxBits = 8 * v.value
			case "tx_bytes":
				c.TxBits = 8 * v.value
			case "drops":
				c.Drops = v.value
			case "rx_errors", "tx_errors":
				c.Errors += v.value
			case "rx_no_buf":
				p.noBuffer += v.value
			}
		}
		p.interfaces[nameOf(itf)] = c
	}
	return p
}

// nameOf returns what the configuration calls an interface, or VPP.
func nameOf(i *ifaceStats) string {
	if i.logical != "" {
		return i.logical
	}
	return i.internal
}

// since returns the rates of an interface since an earlier point. They are unknown if VPP
// restarted meanwhile, or if the interface was created again.
func (p *point) since(before *point, name string) (r rates.Interface, known bool) {
	r.Name = name
	now, here := p.interfaces[name]
	if before == nil || !here || before.boot != p.boot {
		return r, false
	}
	was, there := before.interfaces[name]
	if !there {
		return r, false
	}
	return now.Since(was, p.at.Sub(before.at).Seconds(), name)
}

// history has the counters of the last hour.
type history struct {
	mu   sync.Mutex
	hour rates.Hour
	vpp  [vppValues]rates.Ring
	last *point // of the last sample; nil: VPP could not be read
	// former and latest are the points of the last requests of rates, which are more often.
	former, latest *point
}

// add adds the outcome of a read.
func (h *history) add(at time.Time, s readState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, i := pointOf(s), h.hour.Begin(at)
	for v, value := range gauges(s.snapshot) {
		h.vpp[v][i] = value
	}
	if now != nil {
		for name := range now.interfaces {
			h.hour.Put(now.since(h.last, name))
		}
	}
	h.last = now
}

// gauges returns the values of VPP in a snapshot; without one they are unknown.
func gauges(s *snapshot) (g [vppValues]float32) {
	for i := range g {
		g[i] = rates.Unknown
	}
	if s == nil {
		return g
	}
	for _, v := range s.system {
		switch v.name {
		case "vector_rate":
			g[vectorRate] = float32(v.value)
		case "input_rate":
			g[inputRate] = float32(v.value)
		}
	}
	var used, all uint64
	for _, p := range s.pools {
		used, all = used+p.used, all+p.used+p.available+p.cached
	}
	g[buffersUsed] = percent(used, all)
	for _, h := range s.heaps {
		if h.heap == mainHeap {
			g[heapUsed] = percent(valueOf(h.values, "used"), valueOf(h.values, "total"))
		}
	}
	return g
}

func valueOf(values []namedValue, name string) uint64 {
	if i := slices.IndexFunc(values, func(v namedValue) bool { return v.name == name }); i >= 0 {
		return values[i].value
	}
	return 0
}

func percent(part, whole uint64) float32 {
	if whole == 0 {
		return rates.Unknown
	}
	return float32(100 * float64(part) / float64(whole))
}

// exhausted names the pools without a free buffer. Threads keep some for themselves, so a pool
// that is empty is out of buffers if these are used up too, or if a packet was dropped for it.
func exhausted(s *snapshot, dropped bool) string {
	var pools []string
	for _, p := range s.pools {
		if p.used > 0 && p.available == 0 && (p.cached == 0 || dropped) {
			pools = append(pools, p.pool)
		}
	}
	return strings.Join(pools, ", ")
}

// sample adds a sample to the history, and reports whether VPP has buffers.
func (p *Plugin) sample() {
	s := p.readSince(p.sampling / 2)
	before := p.history.lastPoint()
	p.history.add(p.now(), s)
	if s.snapshot == nil {
		p.reportBuffers("")
		return
	}
	after := p.history.lastPoint()
	dropped := before != nil && before.boot == after.boot && after.noBuffer > before.noBuffer
	p.reportBuffers(exhausted(s.snapshot, dropped))
}

func (h *history) lastPoint() *point {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// reportBuffers reports that pools are out of buffers, or that they have some again.
func (p *Plugin) reportBuffers(pools string) {
	if pools == p.exhausted {
		return
	}
	if p.buffers == nil {
		p.buffers = p.Health.Scope(HealthBuffers)
	}
	if p.exhausted = pools; pools == "" {
		p.buffers.OK("")
		return
	}
	p.buffers.Degraded("VPP is out of buffers ("+pools+"), it drops packets; more: buffers { buffers-per-numa N } in the startup configuration of VPP", nil)
}

// keepHistory samples until the plugin is closed.
func (p *Plugin) keepHistory(ctx context.Context) {
	rates.Sample(ctx, p.sampling, p.sample)
}
