package orchestrator

import "time"

// SetQuietLift changes how long a store must be without events until it is followed again.
func SetQuietLift(p *Plugin, d time.Duration) { p.quietLift = d }
