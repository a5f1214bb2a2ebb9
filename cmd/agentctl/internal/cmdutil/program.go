package cmdutil

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

	"github.com/spf13/cobra"
)

const (
	// programName is the default of Program.
	programName = "vpp-agent"
	// stopTimeout is how long the program may take to end when it is interrupted.
	stopTimeout = 10 * time.Second
)

// Program is the program of an agent that a command runs: it can simulate VPP and Linux.
type Program struct{ file string }

// Flag adds --program.
func (p *Program) Flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "program", "", "`file` with the program of the agent (default: vpp-agent next to agentctl, or in PATH)")
}

// Run runs a command of the program, whose name follows its flags in args, with a standard input, and decodes the JSON
// that it writes. instead says how to do without the program.
func (p *Program) Run(ctx context.Context, command string, args []string, input []byte, result any, instead string) error {
	program, err := p.find(command, instead)
	if err != nil {
		return err
	}
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &problem
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, stopTimeout
	if err := cmd.Run(); err != nil {
		if said := strings.TrimPrefix(strings.TrimSpace(problem.String()), "ERROR: "); said != "" {
			err = errors.New(said)
		}
		return fmt.Errorf("%s %s: %w", program, command, err)
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		return fmt.Errorf("%s %s: expected a result in JSON: %w", program, command, err)
	}
	return nil
}

// find returns the program: by default vpp-agent next to agentctl, or else in PATH.
func (p *Program) find(command, instead string) (string, error) {
	if p.file != "" {
		return p.file, nil
	}
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), programName)); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(programName)
	if err != nil {
		return "", fmt.Errorf("'%s' runs the program %s, which is neither next to agentctl nor in PATH (--program)%s", command, programName, instead)
	}
	return found, nil
}
