package tracing

import "time"

// UseFlushTime sets how long the sending of what is left may take.
func UseFlushTime(d time.Duration) Option { return func(p *Plugin) { p.flush = d } }
