package filedb

// UseClock sets the clock by which changes settle.
func UseClock(c clock) Option { return func(p *Plugin) { p.clock = c } }
