package cmdutil

import (
	"context"
	"fmt"
	"slices"
)

// Noting adds to what print does a note, beside the output, if no real VPP or Linux is behind it.
// Agents without VPP do not report it, so errors are ignored.
func Noting[T any](ctx context.Context, f *Factory, print func(T) error) func(T) error {
	return func(data T) error {
		if err := print(data); err != nil {
			return err
		}
		if simulated, err := f.Client.Agent.Simulated(ctx); err == nil && len(simulated) > 0 {
			fmt.Fprintln(f.Err, SimulationNote(simulated))
		}
		return nil
	}
}

// SimulationNote says which southbounds are simulated, and which is real.
func SimulationNote(simulated []string) string {
	if slices.Contains(simulated, "linux") {
		return "VPP and Linux are simulated: CONFIGURED values exist only inside the agent"
	}
	return "VPP is simulated, Linux is real: values CONFIGURED in VPP forward no packets"
}
