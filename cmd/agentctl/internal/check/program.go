package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

const (
	// programName is the default for --program.
	programName = "vpp-agent"
	// stopTimeout is how long the program may take to end when it is interrupted.
	stopTimeout = 10 * time.Second
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
	program, err := o.findProgram()
	if err != nil {
		return checked, err
	}
	args := []string{"check", "-"}
	if len(links) > 0 {
		args = []string{"--simulate-links", strings.Join(links, ","), "check", "-"}
	}
	if o.modelsFile != "" {
		args = append(args, o.modelsFile)
	}
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &problem
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, stopTimeout
	if err := cmd.Run(); err != nil {
		if said := strings.TrimPrefix(strings.TrimSpace(problem.String()), "ERROR: "); said != "" {
			err = errors.New(said)
		}
		return checked, fmt.Errorf("%s check: %w", program, err)
	}
	if err := json.Unmarshal(out.Bytes(), &checked); err != nil {
		return checked, fmt.Errorf("%s check: expected a result in JSON: %w", program, err)
	}
	return checked, nil
}

// findProgram returns the program of the agent: by default vpp-agent next to agentctl, or
// else in PATH.
func (o *options) findProgram() (string, error) {
	if o.program != "" {
		return o.program, nil
	}
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), programName)); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(programName)
	if err != nil {
		return "", fmt.Errorf("'check' runs the program %s, which is neither next to agentctl nor in PATH (--program); "+
			"'agentctl plan' asks an agent that runs", programName)
	}
	return found, nil
}
