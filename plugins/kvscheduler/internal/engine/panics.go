package engine

import (
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
)

// panicPlace identifies the source line where a callback of a descriptor panicked.
type panicPlace struct{ descriptor, callback, place string }

// maxPanics limits the places that are remembered; further panics are only in the
// history.
const maxPanics = 1000

// panicLog logs callbacks that panicked. It belongs to the worker.
type panicLog struct {
	log    logging.Logger
	panics map[panicPlace]bool // the logged ones
}

func newPanicLog(log logging.Logger) *panicLog { return &panicLog{log, map[panicPlace]bool{}} }

// add logs the stack of a callback that panicked, once for each place, since the same
// panic recurs at each retry and for many values.
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
func (e *Engine) reportSelectors() {
	for _, p := range e.state.graph.TakePanics() {
		for _, n := range p.Dependents {
			e.southbound.contracts.Value(n.Desc.Name, n.Root().Key, p.Problem)
		}
	}
}
