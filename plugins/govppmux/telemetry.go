package govppmux

import (
	"net/http"

	"github.com/tenuto-dev/tenuto/infra/rest"
)

// telemetryCommands are those whose output the predecessor showed at /vpp/telemetry.
var telemetryCommands = []string{"show node counters", "show runtime", "show buffers", "show memory", "show ip fib", "show ip6 fib"}

// commandOutput is the output of a command of VPP, under the names of the predecessor.
type commandOutput struct {
	Command string
	Output  string
	Error   string `json:",omitempty"` // instead of the output
}

// ServeTelemetry runs commands of VPP that show its state, and answers with their outputs. A
// command that fails has its error.
func (p *Plugin) ServeTelemetry(w http.ResponseWriter, r *http.Request) {
	outputs := make([]commandOutput, len(telemetryCommands))
	for i, command := range telemetryCommands {
		out, err := p.RunCLI(r.Context(), command)
		outputs[i] = commandOutput{Command: command, Output: out}
		if err != nil {
			outputs[i].Error = err.Error()
		}
	}
	rest.WriteJSON(w, http.StatusOK, outputs)
}
