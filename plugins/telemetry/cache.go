package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
)

const (
	// readTimeout bounds a read, hence a scrape. It takes a millisecond or two,
	// unless VPP's main thread is busy when it is asked for the segment.
	readTimeout = time.Second
	// failurePause is how long a failure is good for, so that many scrapes do not
	// wait for the same VPP one after the other.
	failurePause = time.Second
)

// errNoSegment is why nothing is read of the simulator.
var errNoSegment = errors.New("this VPP has no stats segment (a simulated one has none)")

// cache is the last read and its outcome.
type cache struct {
	mu    sync.Mutex // held while reading: who comes meanwhile gets the same
	state readState
	known bool // state is the outcome of a read
	said  bool // the log knows of a failure
}

// readState is the outcome of reads.
type readState struct {
	snapshot        *snapshot // nil after a failure
	err             error     // why
	at              time.Time
	took            time.Duration
	reads, failures uint64
}

// read returns what is known of VPP, no older than the polling interval.
func (p *Plugin) read() readState { return p.readSince(p.cfg.interval()) }

// readSince returns what is known of VPP, no older than a limit.
func (p *Plugin) readSince(limit time.Duration) readState {
	c := &p.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.snapshot == nil {
		limit = failurePause
	}
	begin := p.now()
	if c.known && begin.Sub(c.state.at) < limit {
		return c.state
	}
	snapshot, err := p.readSegment()
	c.known = true
	c.state.snapshot, c.state.err, c.state.at = snapshot, err, begin
	c.state.took = p.now().Sub(begin)
	c.state.reads++
	if err != nil {
		c.state.failures++
	}
	p.report(err)
	return c.state
}

// report logs transitions between success and failure. They do not affect the
// health: a VPP without a stats segment can be configured, and the plugin that is
// connected to VPP reports a disconnect.
func (p *Plugin) report(err error) {
	c := &p.cache
	switch {
	case err == nil && c.said:
		p.Log.Info("the stats segment of VPP can be read again")
	case errors.Is(err, errNoSegment):
		p.Log.Debug("VPP offers no metrics", "error", err)
		return
	case err != nil && !c.said:
		p.Log.Warn("the stats segment of VPP can not be read, its metrics are absent", "error", err)
	}
	c.said = err != nil
}

func (p *Plugin) readSegment() (*snapshot, error) {
	socket := p.VPP.StatsSocket()
	if socket == "" {
		return nil, errNoSegment
	}
	ctx, cancel := context.WithTimeout(p.Context(), readTimeout)
	defer cancel()
	segment, err := statseg.Open(ctx, socket)
	if err != nil {
		return nil, err
	}
	var s *snapshot
	err = segment.Read(ctx, func(d *statseg.Directory) (err error) {
		s, err = takeSnapshot(d, p.Rules, p.cfg.wanted)
		return err
	})
	if err := errors.Join(err, segment.Close()); err != nil {
		return nil, err
	}
	for i := range s.interfaces { // now: an index may belong to another one later
		s.interfaces[i].logical = p.logicalName(s.interfaces[i].index)
	}
	return s, nil
}

// logicalName is what the configuration calls an interface, or empty.
func (p *Plugin) logicalName(index uint32) string {
	if p.Names == nil {
		return ""
	}
	name, _ := p.Names.InterfaceName(index)
	return name
}
