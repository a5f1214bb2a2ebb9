package check

import (
	"context"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// apply applies a text to a simulated agent, with --assume-links on a host that has the links which
// its items wait for.
func (o *options) apply(ctx context.Context, text []byte) (checked response.Checked, err error) {
	checked, err = o.simulate(ctx, text, nil)
	if err != nil || !o.assumeLinks || checked.Outcome == nil {
		return checked, err
	}
	if links := hostLinks(checked.Outcome.Results); len(links) > 0 {
		return o.simulate(ctx, text, links)
	}
	return checked, nil
}

// simulate makes the program of the agent apply a text to a simulated VPP, and a Linux with the given
// links.
func (o *options) simulate(ctx context.Context, text []byte, links []string) (checked response.Checked, err error) {
	args := []string{"check", "-"}
	if len(links) > 0 {
		args = []string{"--simulate-links", strings.Join(links, ","), "check", "-"}
	}
	if o.modelsFile != "" {
		args = append(args, o.modelsFile)
	}
	err = o.program.Run(ctx, "check", args, text, &checked, "; 'agentctl plan' asks an agent that runs")
	return checked, err
}
