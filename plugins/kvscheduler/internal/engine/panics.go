package engine

import (
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

// panicPlace is where callbacks of a descriptor panic.
type panicPlace struct{ descriptor, callback, place string }

// maxPanics bounds the places that are remembered; what panics elsewhere is in the
// history only.
const maxPanics = 1000

// panicLog logs callbacks that panicked. It belongs to the worker.
type panicLog struct {
	log    logging.Logger
	panics map[panicPlace]bool // those that were logged
}

func newPanicLog(log logging.Logger) *panicLog { return &panicLog{log, map[panicPlace]bool{}} }

// add logs a callback that panicked with the stack, once for each place: the same
// happens at each retry, and to many values.
func (x *panicLog) add(key string, p *exec.PanicError) {
	at := panicPlace{p.Descriptor, p.Callback, p.Place}
	if x.panics[at] || len(x.panics) >= maxPanics {
		return
	}
	x.panics[at] = true
	x.log.Error("callback panicked", "descriptor", p.Descriptor, "callback", p.Callback, "key", key, "error", p, "stack", string(p.Stack))
}

// reportSelectors reports selectors of dependencies that panicked as contract
// violations of the values that have these dependencies. Such a dependency is not met.
func (c *Engine) reportSelectors() {
	for _, p := range c.graph.TakePanics() {
		for _, n := range p.Dependents {
			c.southbound.contracts.Value(n.Desc.Name, n.Root().Key, p.Problem)
		}
	}
}
